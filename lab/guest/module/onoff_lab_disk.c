// SPDX-License-Identifier: MIT OR Apache-2.0
// Disks whose contents the emulator provides as memory. A request takes a fixed time plus its bytes at a given rate,
// one request after another, by the guest's clock: the host's load does not matter.
#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/module.h>

#define MAX_DISKS 2
#define QUEUE_DEPTH 32

static unsigned long address[MAX_DISKS];
static unsigned long size[MAX_DISKS];
static unsigned int latency_us = 100;
static unsigned int mb_per_s = 500;
static unsigned int disk_count;
module_param_array(address, ulong, &disk_count, 0444);
MODULE_PARM_DESC(address, "physical address of each disk");
module_param_array(size, ulong, NULL, 0444);
MODULE_PARM_DESC(size, "size of each disk, bytes");
module_param(latency_us, uint, 0444);
MODULE_PARM_DESC(latency_us, "fixed time of a request of the first disk, us");
module_param(mb_per_s, uint, 0444);
MODULE_PARM_DESC(mb_per_s, "bandwidth of the first disk, MB/s");

struct lab_disk {
	void *memory;
	u64 latency_ns;
	u64 mb_per_s;
	spinlock_t lock;
	// When the last accepted request ends.
	u64 busy_until_ns;
	struct blk_mq_tag_set tags;
	struct gendisk *disk;
};
static struct lab_disk lab_disks[MAX_DISKS];
static int major;

struct lab_command {
	struct hrtimer timer;
};

static enum hrtimer_restart lab_complete(struct hrtimer *timer)
{
	blk_mq_end_request(blk_mq_rq_from_pdu(container_of(timer, struct lab_command, timer)), BLK_STS_OK);
	return HRTIMER_NORESTART;
}

static void lab_copy(struct lab_disk *disk, struct request *request)
{
	void *position = disk->memory + (blk_rq_pos(request) << SECTOR_SHIFT);
	struct req_iterator iterator;
	struct bio_vec part;

	rq_for_each_segment(part, request, iterator) {
		void *page = bvec_kmap_local(&part);

		if (rq_data_dir(request) == WRITE)
			memcpy(position, page, part.bv_len);
		else
			memcpy(page, position, part.bv_len);
		kunmap_local(page);
		position += part.bv_len;
	}
}

static blk_status_t lab_queue_rq(struct blk_mq_hw_ctx *queue, const struct blk_mq_queue_data *data)
{
	struct request *request = data->rq;
	struct lab_disk *disk = queue->queue->queuedata;
	struct lab_command *command = blk_mq_rq_to_pdu(request);
	u64 length_ns = disk->latency_ns;
	unsigned long flags;
	u64 end_ns;

	if (req_op(request) != REQ_OP_READ && req_op(request) != REQ_OP_WRITE)
		return BLK_STS_NOTSUPP;
	blk_mq_start_request(request);
	lab_copy(disk, request);
	if (disk->mb_per_s)
		length_ns += div64_u64((u64)blk_rq_bytes(request) * 1000, disk->mb_per_s);
	spin_lock_irqsave(&disk->lock, flags);
	end_ns = max(ktime_get_ns(), disk->busy_until_ns) + length_ns;
	disk->busy_until_ns = end_ns;
	spin_unlock_irqrestore(&disk->lock, flags);
	hrtimer_start(&command->timer, ns_to_ktime(end_ns), HRTIMER_MODE_ABS);
	return BLK_STS_OK;
}

static int lab_init_request(struct blk_mq_tag_set *tags, struct request *request, unsigned int queue, unsigned int node)
{
	struct lab_command *command = blk_mq_rq_to_pdu(request);

	hrtimer_init(&command->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	command->timer.function = lab_complete;
	return 0;
}

static const struct blk_mq_ops lab_queue_ops = { .queue_rq = lab_queue_rq, .init_request = lab_init_request };
static const struct block_device_operations lab_disk_ops = { .owner = THIS_MODULE };

static int lab_add(struct lab_disk *disk, unsigned int index)
{
	int error;

	disk->memory = memremap(address[index], size[index], MEMREMAP_WB);
	if (!disk->memory)
		return -ENOMEM;
	disk->latency_ns = index ? 0 : (u64)latency_us * NSEC_PER_USEC;
	disk->mb_per_s = index ? 0 : mb_per_s;
	spin_lock_init(&disk->lock);
	disk->tags.ops = &lab_queue_ops;
	disk->tags.nr_hw_queues = 1;
	disk->tags.queue_depth = QUEUE_DEPTH;
	disk->tags.numa_node = NUMA_NO_NODE;
	disk->tags.cmd_size = sizeof(struct lab_command);
	disk->tags.flags = BLK_MQ_F_SHOULD_MERGE;
	error = blk_mq_alloc_tag_set(&disk->tags);
	if (error)
		return error;
	disk->disk = blk_mq_alloc_disk(&disk->tags, disk);
	if (IS_ERR(disk->disk))
		return PTR_ERR(disk->disk);
	disk->disk->major = major;
	disk->disk->first_minor = index;
	disk->disk->minors = 1;
	disk->disk->flags |= GENHD_FL_NO_PART;
	disk->disk->fops = &lab_disk_ops;
	snprintf(disk->disk->disk_name, DISK_NAME_LEN, "lab%u", index);
	blk_queue_flag_set(QUEUE_FLAG_NONROT, disk->disk->queue);
	set_capacity(disk->disk, size[index] >> SECTOR_SHIFT);
	return add_disk(disk->disk);
}

static int __init onoff_lab_disk_init(void)
{
	unsigned int index;

	major = register_blkdev(0, "lab");
	if (major < 0)
		return major;
	for (index = 0; index < disk_count; index++) {
		int error = lab_add(&lab_disks[index], index);

		if (error)
			return error;
	}
	return 0;
}

// No exit function: the guest's files are on the disk.
module_init(onoff_lab_disk_init);
MODULE_DESCRIPTION("disks with a given latency and bandwidth");
MODULE_LICENSE("Dual MIT/GPL");
