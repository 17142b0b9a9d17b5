// SPDX-License-Identifier: GPL-2.0
/*
 * Parse, check and show mount options, and refuse a remount that changes what has to stay.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>
#include "client.h"
#include "options.h"

#define RDMAFS_CONNECT_DEFAULT	5	/* seconds */
#define RDMAFS_CONNECT_MAX	600
#define RDMAFS_TIMEO_DEFAULT	600	/* tenths of a second */
#define RDMAFS_TIMEO_MAX	36000
#define RDMAFS_RETRANS_DEFAULT	2
#define RDMAFS_RETRANS_MAX	100
#define RDMAFS_IO_SIZE		SZ_1M		/* bytes of one READ or WRITE, by default */
#define RDMAFS_AC_MAX		86400

/* Seconds for which attributes are believed without asking the server, by default. */
#define RDMAFS_ACREGMIN		3
#define RDMAFS_ACREGMAX		60
#define RDMAFS_ACDIRMIN		1
#define RDMAFS_ACDIRMAX		60

static const struct constant_table rdmafs_reg_names[] = {
	{ "auto",	RDMAFS_REG_AUTO },
	{ "direct",	RDMAFS_REG_DIRECT },
	{ "overlapped",	RDMAFS_REG_OVERLAPPED },
	{}
};

static const struct constant_table rdmafs_names_names[] = {
	{ "all",	RDMAFS_NAMES_ALL },
	{ "positive",	RDMAFS_NAMES_POSITIVE },
	{ "none",	RDMAFS_NAMES_NONE },
	{ "pos",	RDMAFS_NAMES_POSITIVE },
	{}
};

static const struct constant_table rdmafs_local_names[] = {
	{ "none",	0 },
	{ "flock",	RDMAFS_LOCAL_FLOCK },
	{ "posix",	RDMAFS_LOCAL_POSIX },
	{ "all",	RDMAFS_LOCAL_ALL },
	{}
};

const struct fs_parameter_spec rdmafs_params[] = {
	fsparam_string("source",	RDMAFS_OPT_SOURCE),
	fsparam_string("addr",		RDMAFS_OPT_ADDR),
	fsparam_u32("port",		RDMAFS_OPT_PORT),
	fsparam_u32("slots",		RDMAFS_OPT_SLOTS),
	fsparam_u32("connect_timeout",	RDMAFS_OPT_CONNECT_TIMEOUT),
	fsparam_flag("hard",		RDMAFS_OPT_HARD),
	fsparam_flag("soft",		RDMAFS_OPT_SOFT),
	fsparam_flag("softerr",		RDMAFS_OPT_SOFTERR),
	fsparam_u32("timeo",		RDMAFS_OPT_TIMEO),
	fsparam_u32("retrans",		RDMAFS_OPT_RETRANS),
	fsparam_u32("rsize",		RDMAFS_OPT_RSIZE),
	fsparam_u32("wsize",		RDMAFS_OPT_WSIZE),
	fsparam_u32("acregmin",		RDMAFS_OPT_ACREGMIN),
	fsparam_u32("acregmax",		RDMAFS_OPT_ACREGMAX),
	fsparam_u32("acdirmin",		RDMAFS_OPT_ACDIRMIN),
	fsparam_u32("acdirmax",		RDMAFS_OPT_ACDIRMAX),
	fsparam_u32("actimeo",		RDMAFS_OPT_ACTIMEO),
	fsparam_flag("noac",		RDMAFS_OPT_NOAC),
	fsparam_enum("lookupcache",	RDMAFS_OPT_LOOKUPCACHE, rdmafs_names_names),
	fsparam_u64("min",		RDMAFS_OPT_MIN),
	fsparam_u64("max",		RDMAFS_OPT_MAX),
	fsparam_u32("weight",		RDMAFS_OPT_WEIGHT),
	fsparam_enum("reg",		RDMAFS_OPT_REG, rdmafs_reg_names),
	fsparam_u32("poll_us",		RDMAFS_OPT_POLL_US),
	fsparam_u32("nconnect",		RDMAFS_OPT_NCONNECT),
	fsparam_enum("local_lock",	RDMAFS_OPT_LOCAL_LOCK, rdmafs_local_names),
	fsparam_flag_no("sharecache",	RDMAFS_OPT_SHARECACHE),
	fsparam_flag_no("security_label", RDMAFS_OPT_SECLABEL),
	{}
};

/**
 * rdmafs_opts_clear - free the strings of options
 * @opts: the options
 *
 * Context: process.
 */
void rdmafs_opts_clear(struct rdmafs_opts *opts)
{
	kfree(opts->host);
	kfree(opts->export);
	opts->host = NULL;
	opts->export = NULL;
}

/**
 * rdmafs_opts_copy - copy options, with their strings
 * @to:   filled in; to be cleared by rdmafs_opts_clear()
 * @from: the options, which have a host and an export
 *
 * Context: process, may sleep.
 * Return: 0; or -ENOMEM: @to has no strings.
 */
int rdmafs_opts_copy(struct rdmafs_opts *to, const struct rdmafs_opts *from)
{
	*to = *from;
	to->host = kstrdup(from->host, GFP_KERNEL);
	to->export = kstrdup(from->export, GFP_KERNEL);
	if (to->host && to->export)
		return 0;
	rdmafs_opts_clear(to);
	return -ENOMEM;
}

/**
 * rdmafs_addr_port - the port of an address
 * @addr: an IPv4 or IPv6 address
 *
 * Context: any.
 * Return: the port.
 */
u16 rdmafs_addr_port(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

/**
 * rdmafs_opts_default - set the options of a mount that names none
 * @opts: the options
 *
 * Context: any.
 */
void rdmafs_opts_default(struct rdmafs_opts *opts)
{
	opts->slots = RDMAFS_XPRT_SLOTS_DEFAULT;
	opts->nconnect = 1;
	opts->connect_s = RDMAFS_CONNECT_DEFAULT;
	opts->timeo = RDMAFS_TIMEO_DEFAULT;
	opts->retrans = RDMAFS_RETRANS_DEFAULT;
	opts->rsize = RDMAFS_IO_SIZE;
	opts->wsize = RDMAFS_IO_SIZE;
	opts->acregmin = RDMAFS_ACREGMIN;
	opts->acregmax = RDMAFS_ACREGMAX;
	opts->acdirmin = RDMAFS_ACDIRMIN;
	opts->acdirmax = RDMAFS_ACDIRMAX;
	opts->quota.max = RPOL_NO_MAX;
	opts->quota.weight = RPOL_WEIGHT_DEFAULT;
}

/* host:/export, [v6]:/export */
static int rdmafs_parse_source(struct fs_context *fc, const char *source)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	const char *host = source, *end, *export;
	size_t len;

	if (*host == '[') {
		host++;
		end = strchr(host, ']');
		if (!end || end[1] != ':')
			return invalfc(fc, "source '%s' is not [address]:/export", source);
		export = end + 2;
	} else {
		end = strstr(host, ":/");
		if (!end)
			end = strchr(host, ':');
		if (!end)
			return invalfc(fc, "source '%s' is not host:/export", source);
		export = end + 1;
	}
	if (end == host)
		return invalfc(fc, "source '%s' names no host", source);
	while (*export == '/')
		export++;
	if (!*export)
		return invalfc(fc, "source '%s' names no export", source);
	/* Mounts that share a superblock are known by the name: slashes at its end say nothing. */
	len = strlen(export);
	while (export[len - 1] == '/')
		len--;
	if (len > RFP_EXPORT_NAME_MAX)
		return invalfc(fc, "source: the export's name is longer than %u bytes",
			       RFP_EXPORT_NAME_MAX);
	rdmafs_opts_clear(&ctx->opts);
	ctx->opts.host = kmemdup_nul(host, end - host, GFP_KERNEL);
	ctx->opts.export = kmemdup_nul(export, len, GFP_KERNEL);
	if (!ctx->opts.host || !ctx->opts.export)
		return -ENOMEM;
	return 0;
}

static int rdmafs_parse_range(struct fs_context *fc, const char *key, u32 value, u32 min,
			      u32 max, u32 *to)
{
	if (value < min || value > max)
		return invalfc(fc, "%s=%u is not between %u and %u", key, value, min, max);
	*to = value;
	return 0;
}

/*
 * Each of the next functions takes options of one kind.  0; 1: it is of another kind; or a negative
 * errno, with a message in @fc.
 */

/* Where the server and the export are; strings become the context's. */
static int rdmafs_parse_server(struct fs_context *fc, enum rdmafs_param opt,
			       struct fs_parameter *param, const struct fs_parse_result *res)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	u32 n;
	int err;

	switch (opt) {
	case RDMAFS_OPT_SOURCE:
		if (fc->source)
			return invalfc(fc, "more than one source");
		err = rdmafs_parse_source(fc, param->string);
		if (err)
			return err;
		fc->source = param->string;
		param->string = NULL;
		return 0;
	case RDMAFS_OPT_ADDR:
		if (!*param->string)
			return invalfc(fc, "addr= is empty");
		kfree(ctx->addr);
		ctx->addr = param->string;
		param->string = NULL;
		return 0;
	case RDMAFS_OPT_PORT:
		err = rdmafs_parse_range(fc, param->key, res->uint_32, 1, U16_MAX, &n);
		if (!err)
			ctx->port = n;
		return err;
	default:
		return 1;
	}
}

/* The session, and how large its RPCs are. */
static int rdmafs_parse_session(struct fs_context *fc, enum rdmafs_param opt, const char *key,
				const struct fs_parse_result *res)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct rdmafs_opts *opts = &ctx->opts;
	u32 n;
	int err;

	switch (opt) {
	case RDMAFS_OPT_SLOTS:
		return rdmafs_parse_range(fc, key, res->uint_32, RDMAFS_XPRT_SLOTS_MIN,
					  RDMAFS_XPRT_SLOTS_MAX, &opts->slots);
	case RDMAFS_OPT_NCONNECT:
		return rdmafs_parse_range(fc, key, res->uint_32, 1, RDMAFS_XPRT_CONNS_MAX,
					  &opts->nconnect);
	case RDMAFS_OPT_CONNECT_TIMEOUT:
		return rdmafs_parse_range(fc, key, res->uint_32, 1, RDMAFS_CONNECT_MAX,
					  &opts->connect_s);
	case RDMAFS_OPT_POLL_US:
		return rdmafs_parse_range(fc, key, res->uint_32, 0, RDMAFS_POLL_US_MAX,
					  &opts->poll_us);
	case RDMAFS_OPT_RSIZE:
	case RDMAFS_OPT_WSIZE:
		err = rdmafs_parse_range(fc, key, res->uint_32, PAGE_SIZE, RDMAFS_XPRT_DATA_MAX,
					 &n);
		if (err)
			return err;
		if (!is_power_of_2(n))
			return invalfc(fc, "%s=%u is not a power of two", key, n);
		*(opt == RDMAFS_OPT_RSIZE ? &opts->rsize : &opts->wsize) = n;
		return 0;
	default:
		return 1;
	}
}

/* Options that say what becomes of a request that has no answer. */
static int rdmafs_parse_late(struct fs_context *fc, enum rdmafs_param opt, const char *key,
			     const struct fs_parse_result *res)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct rdmafs_opts *opts = &ctx->opts;

	switch (opt) {
	case RDMAFS_OPT_HARD:
		opts->late = RDMAFS_HARD;
		return 0;
	case RDMAFS_OPT_SOFT:
		opts->late = RDMAFS_SOFT;
		return 0;
	case RDMAFS_OPT_SOFTERR:
		opts->late = RDMAFS_SOFTERR;
		return 0;
	case RDMAFS_OPT_TIMEO:
		return rdmafs_parse_range(fc, key, res->uint_32, 1, RDMAFS_TIMEO_MAX,
					  &opts->timeo);
	case RDMAFS_OPT_RETRANS:
		return rdmafs_parse_range(fc, key, res->uint_32, 0, RDMAFS_RETRANS_MAX,
					  &opts->retrans);
	default:
		return 1;
	}
}

/* Options that say what is believed without asking the server, and for how long. */
static int rdmafs_parse_cache(struct fs_context *fc, enum rdmafs_param opt, const char *key,
			      const struct fs_parse_result *res)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct rdmafs_opts *opts = &ctx->opts;
	u32 n = 0, *to;
	int err = 0;

	switch (opt) {
	case RDMAFS_OPT_ACREGMIN:
		to = &opts->acregmin;
		break;
	case RDMAFS_OPT_ACREGMAX:
		to = &opts->acregmax;
		break;
	case RDMAFS_OPT_ACDIRMIN:
		to = &opts->acdirmin;
		break;
	case RDMAFS_OPT_ACDIRMAX:
		to = &opts->acdirmax;
		break;
	case RDMAFS_OPT_ACTIMEO:
	case RDMAFS_OPT_NOAC:
		if (opt == RDMAFS_OPT_ACTIMEO)
			err = rdmafs_parse_range(fc, key, res->uint_32, 0, RDMAFS_AC_MAX, &n);
		if (err)
			return err;
		opts->acregmin = n;
		opts->acregmax = n;
		opts->acdirmin = n;
		opts->acdirmax = n;
		return 0;
	case RDMAFS_OPT_LOOKUPCACHE:
		opts->names = res->uint_32;
		return 0;
	default:
		return 1;
	}
	return rdmafs_parse_range(fc, key, res->uint_32, 0, RDMAFS_AC_MAX, to);
}

/* The RNIC's translations: how many the mount may have, and when it takes them. */
static int rdmafs_parse_quota(struct fs_context *fc, enum rdmafs_param opt, const char *key,
			      const struct fs_parse_result *res)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct rdmafs_opts *opts = &ctx->opts;

	switch (opt) {
	case RDMAFS_OPT_MIN:
		opts->quota.min = res->uint_64;
		return 0;
	case RDMAFS_OPT_MAX:
		opts->quota.max = res->uint_64;
		return 0;
	case RDMAFS_OPT_WEIGHT:
		return rdmafs_parse_range(fc, key, res->uint_32, 1, RPOL_WEIGHT_MAX,
					  &opts->quota.weight);
	case RDMAFS_OPT_REG:
		opts->reg = res->uint_32;
		return 0;
	default:
		return 1;
	}
}

/**
 * rdmafs_opts_parse - take one option
 * @fc:    the context, whose fs_private is a struct rdmafs_ctx
 * @param: the option
 *
 * Context: process, may sleep.
 * Return: 0; -ENOPARAM: it is none of ours; -EINVAL, with a message in @fc; -ENOMEM.
 */
int rdmafs_opts_parse(struct fs_context *fc, struct fs_parameter *param)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct rdmafs_opts *opts = &ctx->opts;
	struct fs_parse_result res;
	int opt, ret;

	opt = fs_parse(fc, rdmafs_params, param, &res);
	if (opt < 0)
		return opt;
	ctx->seen |= BIT(opt);
	switch (opt) {
	case RDMAFS_OPT_LOCAL_LOCK:
		opts->local_lock = res.uint_32;
		return 0;
	case RDMAFS_OPT_SHARECACHE:
		opts->unshared = res.negated;
		return 0;
	case RDMAFS_OPT_SECLABEL:
		opts->seclabel = !res.negated;
		return 0;
	}
	ret = rdmafs_parse_server(fc, opt, param, &res);
	if (ret > 0)
		ret = rdmafs_parse_session(fc, opt, param->key, &res);
	if (ret > 0)
		ret = rdmafs_parse_late(fc, opt, param->key, &res);
	if (ret > 0)
		ret = rdmafs_parse_cache(fc, opt, param->key, &res);
	if (ret > 0)
		ret = rdmafs_parse_quota(fc, opt, param->key, &res);
	return ret > 0 ? -EINVAL : ret;
}

/**
 * rdmafs_opts_check - look whether options fit each other, when all have been taken
 * @fc: the context
 *
 * Context: process.
 * Return: 0, or -EINVAL with a message in @fc.
 */
int rdmafs_opts_check(struct fs_context *fc)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	struct rdmafs_opts *opts = &ctx->opts;

	if (opts->acregmax < opts->acregmin)
		return invalfc(fc, "acregmax=%u is less than acregmin=%u", opts->acregmax,
			       opts->acregmin);
	if (opts->acdirmax < opts->acdirmin)
		return invalfc(fc, "acdirmax=%u is less than acdirmin=%u", opts->acdirmax,
			       opts->acdirmin);
	if (opts->quota.max < opts->quota.min)
		return invalfc(fc, "max=%llu is less than min=%llu", opts->quota.max,
			       opts->quota.min);
	return 0;
}

/**
 * rdmafs_opts_fixed - refuse a remount that changes an option which has to stay
 * @fc:  the context of the remount
 * @mnt: the mount
 *
 * Context: process.
 * Return: 0, or -EINVAL with a message in @fc that names the option.
 */
int rdmafs_opts_fixed(struct fs_context *fc, const struct rdmafs_mount *mnt)
{
	struct rdmafs_ctx *ctx = fc->fs_private;
	const struct rdmafs_opts *old = &mnt->opts, *new = &ctx->opts;
	const char *what = NULL;

	if (new->slots != old->slots)
		what = "slots";
	else if (new->nconnect != old->nconnect)
		what = "nconnect";
	else if (new->connect_s != old->connect_s)
		what = "connect_timeout";
	else if (new->rsize != old->rsize && new->rsize != mnt->rsize)
		what = "rsize";
	else if (new->wsize != old->wsize && new->wsize != mnt->wsize)
		what = "wsize";
	else if (new->local_lock != old->local_lock)
		what = "local_lock";
	else if (new->unshared != old->unshared)
		what = "sharecache";
	else if (new->seclabel != old->seclabel)
		what = "security_label";
	else if ((ctx->seen & BIT(RDMAFS_OPT_ADDR)) &&
		 memcmp(&new->addr, &old->addr, sizeof(old->addr)))
		what = "addr or port";
	/* Without addr= the address was not resolved, and does not have the new port. */
	else if ((ctx->seen & BIT(RDMAFS_OPT_PORT)) && ctx->port != rdmafs_addr_port(&old->addr))
		what = "port";
	if (what)
		return invalfc(fc, "%s can't be changed by a remount", what);
	return 0;
}

/**
 * rdmafs_opts_same - tell whether two mounts may share a superblock, as far as options say
 * @a: the options of one
 * @b: the options of the other
 *
 * Nothing is said of rsize and wsize, in which the server and the device have a say, nor of the
 * host's name, since the address tells what server it is.
 *
 * Context: any.
 * Return: true if so.
 */
bool rdmafs_opts_same(const struct rdmafs_opts *a, const struct rdmafs_opts *b)
{
	return !a->unshared && !b->unshared &&
	       !memcmp(&a->addr, &b->addr, sizeof(a->addr)) &&
	       !strcmp(a->export, b->export) &&
	       a->slots == b->slots &&
	       a->nconnect == b->nconnect &&
	       a->reg == b->reg &&
	       a->poll_us == b->poll_us &&
	       a->connect_s == b->connect_s &&
	       a->late == b->late &&
	       a->timeo == b->timeo &&
	       a->retrans == b->retrans &&
	       a->acregmin == b->acregmin &&
	       a->acregmax == b->acregmax &&
	       a->acdirmin == b->acdirmin &&
	       a->acdirmax == b->acdirmax &&
	       a->names == b->names &&
	       a->local_lock == b->local_lock &&
	       a->seclabel == b->seclabel &&
	       a->quota.min == b->quota.min &&
	       a->quota.max == b->quota.max &&
	       a->quota.weight == b->quota.weight;
}

/**
 * rdmafs_opts_timeout - tell for how long a request of a mount is waited for
 * @opts: the mount's options
 *
 * Context: any.
 * Return: jiffies, at least 1; 0: without end.
 */
unsigned long rdmafs_opts_timeout(const struct rdmafs_opts *opts)
{
	if (opts->late == RDMAFS_HARD)
		return 0;
	/* 101 hours at most. */
	return msecs_to_jiffies(opts->timeo * (MSEC_PER_SEC / 10) * (opts->retrans + 1));
}

/**
 * rdmafs_opts_show - write a mount's options, as /proc/mounts shows them
 * @m:    the file
 * @root: the root of the mount's superblock
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int rdmafs_opts_show(struct seq_file *m, struct dentry *root)
{
	struct rdmafs_mount *mnt = RDMAFS_M(root->d_sb);
	const struct rdmafs_opts *opts = &mnt->opts;
	const struct sockaddr_storage *addr = &opts->addr;
	struct rpol_quota quota;

	rdmafs_xprt_get_quota(mnt->xprt, &quota);
	seq_printf(m, ",addr=%pISc,port=%u", addr, rdmafs_addr_port(addr));
	seq_printf(m, ",slots=%u,connect_timeout=%u,rsize=%u,wsize=%u", opts->slots,
		   opts->connect_s, mnt->rsize, mnt->wsize);
	if (opts->late != RDMAFS_HARD)
		seq_puts(m, opts->late == RDMAFS_SOFT ? ",soft" : ",softerr");
	if (opts->late != RDMAFS_HARD || opts->timeo != RDMAFS_TIMEO_DEFAULT ||
	    opts->retrans != RDMAFS_RETRANS_DEFAULT)
		seq_printf(m, ",timeo=%u,retrans=%u", opts->timeo, opts->retrans);
	if (!opts->acregmax && !opts->acdirmax)
		seq_puts(m, ",noac");
	else
		seq_printf(m, ",acregmin=%u,acregmax=%u,acdirmin=%u,acdirmax=%u", opts->acregmin,
			   opts->acregmax, opts->acdirmin, opts->acdirmax);
	if (opts->names != RDMAFS_NAMES_ALL)
		seq_printf(m, ",lookupcache=%s", rdmafs_names_names[opts->names].name);
	if (quota.min)
		seq_printf(m, ",min=%llu", quota.min);
	if (quota.max != RPOL_NO_MAX)
		seq_printf(m, ",max=%llu", quota.max);
	if (quota.weight != RPOL_WEIGHT_DEFAULT)
		seq_printf(m, ",weight=%u", quota.weight);
	if (opts->reg != RDMAFS_REG_AUTO)
		seq_printf(m, ",reg=%s", rdmafs_reg_names[opts->reg].name);
	if (opts->nconnect != 1)
		seq_printf(m, ",nconnect=%u", opts->nconnect);
	if (opts->poll_us)
		seq_printf(m, ",poll_us=%u", opts->poll_us);
	/* As NFS shows it. */
	seq_printf(m, ",local_lock=%s", rdmafs_local_names[opts->local_lock].name);
	if (opts->unshared)
		seq_puts(m, ",nosharecache");
	if (opts->seclabel)
		seq_puts(m, ",security_label");
	return 0;
}
