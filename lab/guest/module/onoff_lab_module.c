// SPDX-License-Identifier: MIT OR Apache-2.0
// A module that takes 2 s to initialize.
#include <linux/delay.h>
#include <linux/init.h>
#include <linux/module.h>

static int __init onoff_lab_module_init(void)
{
	msleep(2000);
	return 0;
}

static void __exit onoff_lab_module_exit(void)
{
}

module_init(onoff_lab_module_init);
module_exit(onoff_lab_module_exit);
MODULE_DESCRIPTION("takes 2 s to start");
MODULE_LICENSE("Dual MIT/GPL");
