// SPDX-License-Identifier: MIT OR Apache-2.0
// A driver that takes 3 s to probe its device, which it also registers.
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/platform_device.h>

static int onoff_lab_probe(struct platform_device *device)
{
	msleep(3000);
	return 0;
}

static struct platform_driver onoff_lab_driver = {
	.probe = onoff_lab_probe,
	.driver = { .name = "onoff-lab-device" },
};
static struct platform_device *onoff_lab_device;

static int __init onoff_lab_driver_init(void)
{
	onoff_lab_device = platform_device_register_simple("onoff-lab-device", -1, NULL, 0);
	if (IS_ERR(onoff_lab_device))
		return PTR_ERR(onoff_lab_device);
	return platform_driver_register(&onoff_lab_driver);
}

static void __exit onoff_lab_driver_exit(void)
{
	platform_driver_unregister(&onoff_lab_driver);
	platform_device_unregister(onoff_lab_device);
}

module_init(onoff_lab_driver_init);
module_exit(onoff_lab_driver_exit);
MODULE_DESCRIPTION("takes 3 s to probe its device");
MODULE_LICENSE("Dual MIT/GPL");
