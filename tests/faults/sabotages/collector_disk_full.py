# SPDX-License-Identifier: GPL-2.0-or-later
"""The store's disk is full when the record is to be kept."""
LAYER = "collector"
WHEN = "executor agent measured"
DO = """mkdir /run/full
cp -a $STORE/. /run/full/
mount -t tmpfs -o size=64k,mode=700 none $STORE
cp -a /run/full/. $STORE/
head -c 1M /dev/zero >$STORE/.fill || :"""
UNTOLD = "No space left"
