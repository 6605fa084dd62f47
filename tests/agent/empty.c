// SPDX-License-Identifier: GPL-2.0-or-later
// The smallest program there is: what starting one costs at least.
int main(void)
{
	return 0;
}
