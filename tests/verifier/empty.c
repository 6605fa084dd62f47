// SPDX-License-Identifier: GPL-2.0-or-later
// Does nothing: what starting a program costs.
int main(void)
{
	return 0;
}
