// SPDX-License-Identifier: GPL-2.0-only
/*
 * Call sites: which number the plan has for a return address. Said by file
 * and offset; the first call from an address looks up what is mapped there,
 * later ones find the address itself.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "kmod.h"

#define SITE_BITS   8
#define RETURN_BITS 12

struct site {
	struct hlist_node node;
	struct path path; /* keeps what the file is on mounted, and it: */
	struct inode *inode;
	u64 offset;
	u32 number;
};

struct maple_return {
	u64 caller; /* 0: free */
	u32 number;
	u32 hits;
};

int maple_sites_init(struct maple_session *s)
{
	s->sites = kcalloc(1 << SITE_BITS, sizeof(*s->sites), MAPLE_GFP);
	s->returns = kvcalloc(1 << RETURN_BITS, sizeof(*s->returns), MAPLE_GFP);
	return s->sites && s->returns ? 0 : -ENOMEM;
}

static void sites_drop(struct hlist_head *head)
{
	struct hlist_node *next;
	struct site *site;

	hlist_for_each_entry_safe(site, next, head, node) {
		hlist_del(&site->node);
		path_put(&site->path);
		kfree(site);
	}
}

/* maple_sites_remove - Context: nobody is in a probe's handler any more */
void maple_sites_remove(struct maple_session *s)
{
	unsigned int i;

	for (i = 0; s->sites && i < 1 << SITE_BITS; i++)
		sites_drop(&s->sites[i]);
}

void maple_sites_free(struct maple_session *s)
{
	maple_sites_remove(s);
	kfree(s->sites);
	kvfree(s->returns);
}

static struct hlist_head *site_head(struct maple_session *s, u64 offset)
{
	return &s->sites[hash_64(offset, SITE_BITS)];
}

/* maple_sites_forget - another program is mapped now */
void maple_sites_forget(struct maple_session *s)
{
	raw_spin_lock(&s->returns_lock);
	memset(s->returns, 0, sizeof(*s->returns) << RETURN_BITS);
	raw_spin_unlock(&s->returns_lock);
	WRITE_ONCE(s->trampoline, 0);
}

/*
 * maple_session_sites - the call sites of @file that the plan names
 *
 * All of them, or with an error none.
 */
int maple_session_sites(struct maple_session *s, struct file *file,
			const struct maple_uapi_site *sites, unsigned int n,
			struct netlink_ext_ack *extack)
{
	struct hlist_node *next;
	HLIST_HEAD(made);
	struct site *site;
	unsigned int i;

	if (READ_ONCE(s->nsites) + n > MAPLE_SESSION_SITES) {
		NL_SET_ERR_MSG(extack, "too many call sites in one session");
		return -ENOSPC;
	}
	for (i = 0; i < n; i++) {
		site = kzalloc(sizeof(*site), MAPLE_GFP);
		if (!site) {
			sites_drop(&made);
			return -ENOMEM;
		}
		site->path = file->f_path;
		path_get(&site->path);
		site->inode = d_real_inode(site->path.dentry);
		site->offset = sites[i].offset;
		site->number = sites[i].number;
		hlist_add_head(&site->node, &made);
	}
	mutex_lock(&s->probes_lock);
	hlist_for_each_entry_safe(site, next, &made, node) {
		hlist_del(&site->node);
		hlist_add_head_rcu(&site->node, site_head(s, site->offset));
	}
	WRITE_ONCE(s->nsites, s->nsites + n);
	mutex_unlock(&s->probes_lock);
	maple_sites_forget(s);
	return 0;
}

/* Context: a thread of the target; sleeps. */
static u32 look_up(struct maple_session *s, u64 caller)
{
	struct mm_struct *mm = current->mm;
	u32 number = MAPLE_SITE_NONE;
	struct vm_area_struct *vma;
	struct site *site;
	u64 offset;

	if (mmap_read_lock_killable(mm))
		return number;
	vma = find_vma(mm, caller);
	if (vma && vma->vm_start <= caller && vma->vm_file) {
		offset = caller - vma->vm_start +
			 ((u64)vma->vm_pgoff << PAGE_SHIFT);
		rcu_read_lock();
		hlist_for_each_entry_rcu(site, site_head(s, offset), node)
			if (site->offset == offset &&
			    site->inode == file_inode(vma->vm_file))
				number = site->number;
		rcu_read_unlock();
	}
	mmap_read_unlock(mm);
	return number;
}

/*
 * maple_site_of - the number of the call that returns to @caller, or NONE
 * @hits: how often it has been here; two of one slot count anew each time
 */
u32 maple_site_of(struct maple_session *s, u64 caller, u32 *hits)
{
	struct maple_return *r = &s->returns[hash_64(caller, RETURN_BITS)];
	u32 number = MAPLE_SITE_NONE;
	bool known;

	raw_spin_lock(&s->returns_lock);
	known = r->caller == caller;
	if (known) {
		number = r->number;
		*hits = ++r->hits;
	}
	raw_spin_unlock(&s->returns_lock);
	if (known)
		return number;
	if (READ_ONCE(s->nsites))
		number = look_up(s, caller);
	raw_spin_lock(&s->returns_lock);
	r->caller = caller;
	r->number = number;
	*hits = r->hits = 1;
	raw_spin_unlock(&s->returns_lock);
	return number;
}
