import path from 'node:path';
import { z } from 'zod';
import { DURATION_PATTERN, parseDuration } from '../../contract/duration.js';
import { faultOf } from './database-address.js';
import { parseTarget } from './target.js';

const MOST_PROCESSES = 64;
const LEAST_RETENTION_MS = 3_600_000;
const PROCESSES = `has to be auto, or a number from 1 to ${MOST_PROCESSES}`;

const port = z.coerce.number().int().min(0).max(65535);
const positiveMs = z.coerce.number().int().min(10).max(3_600_000);
const perSecond = z.coerce.number().min(0).max(1_000_000);
const ceiling = z.coerce.number().int().min(1).max(1_000_000);
const list = z
  .string()
  .default('')
  .transform((s) =>
    s
      .split(',')
      .map((x) => x.trim())
      .filter((x) => x !== ''),
  );
const targets = list.transform((entries, context) =>
  entries.flatMap((entry) => {
    const target = parseTarget(entry);
    if (target === undefined) context.addIssue({ code: 'custom', message: 'each entry has to be a host, host:port, an address or a CIDR' });
    return target ?? [];
  }),
);
const directories = list.transform((entries, context) =>
  entries.map((entry) => {
    const at = path.resolve('/', entry);
    if (!path.isAbsolute(entry) || entry.includes('\0') || at === '/')
      context.addIssue({ code: 'custom', message: 'each entry has to be an absolute directory, and not /' });
    return at;
  }),
);
const database = z.string().check((context) => {
  const fault = faultOf(context.value);
  if (fault !== undefined) context.issues.push({ code: 'custom', message: fault, input: context.value });
});
const web = z.url({ protocol: /^https?$/, error: 'has to be a URL that begins with http:// or https://' });
const endpoint = web.optional();
const exporter = z.enum(['otlp', 'none']).default('otlp');
const duration = z
  .string()
  .refine((text) => (parseDuration(text) ?? -1) >= 0, 'has to be a duration such as 90s, 1h30m or 7d')
  .meta({ pattern: DURATION_PATTERN })
  .transform((text) => parseDuration(text)!);
/** Elsewhere 0 means without a limit: here it would delete what there is within a minute. */
const retention = (forEver: string) => duration.refine((ms) => ms >= LEAST_RETENTION_MS, `has to be an hour or more; ${forEver}`);

/**
 * The environment, but for the secrets of webhooks. `loadConfig` reads it once; nothing else reads `process.env`. A wrong value stops the start with
 * one message that names every wrong variable, what it may be and what it is, but nothing that may be secret.
 */
export const EnvSchema = z.object({
  SVC_HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Where it listens. Elsewhere than on loopback, what changes something needs keys.'),
  SVC_PORT: port.default(8372).describe('The port. 0: one that is free.'),
  SVC_ROLE: z
    .enum(['all', 'api', 'worker'])
    .default('all')
    .describe('What the process does: `api` answers, `worker` works, `all` does both.'),
  // One process has one core for its answers, and memory costs more than a core that idles: whoever has more of both says so.
  SVC_PROCESSES: z
    .union([z.literal('auto'), z.coerce.number(PROCESSES).int(PROCESSES).min(1, PROCESSES).max(MOST_PROCESSES, PROCESSES)], PROCESSES)
    .default(1)
    .describe(
      'Processes that answer, behind one port. From 2 on, one more process does what `worker` does. `auto`: one for each two cores of this machine, up to 8.',
    ),
  SVC_TLS_CERT: z.string().min(1).optional().describe('PEM file of a certificate with its chain: the port speaks HTTPS and nothing else.'),
  SVC_TLS_KEY: z.string().min(1).optional().describe('PEM file of its key.'),
  // Clients that know no such authority refuse our certificate; agents have to be given it.
  SVC_CA_CERT: z
    .string()
    .min(1)
    .optional()
    .describe('PEM file of the authority behind the certificate, when that is not a public one: agents are told of it.'),
  SVC_DATA_DIR: z
    .string()
    .min(1)
    .default('./.svc')
    .describe('The embedded database, the first API key, `host.toml`, and while a server runs `server.json` with its address.'),
  SVC_CITIES_ROOT: z
    .string()
    .min(1)
    .optional()
    .describe('Where cities may lie; the same for every replica and worker. Without it `$SVC_DATA_DIR/cities`.'),
  SVC_DATABASE_URL: database
    .optional()
    .describe(
      'The database. Without it the embedded PostgreSQL. `options` in it add to the settings of every connection. With several hosts, as `postgres://svc@one,two/svc?target_session_attrs=read-write`, connections go to the one that takes writes.',
    ),
  // A pooler that hands connections on after each transaction cannot LISTEN.
  SVC_DATABASE_LISTEN_URL: database
    .optional()
    .describe(
      'The server itself, when `SVC_DATABASE_URL` is a pooler of transactions such as PgBouncer: for LISTEN, migrations, backups and jobs on Postgres.',
    ),
  SVC_REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: 'has to be a URL that begins with redis:// or rediss://' })
    .optional()
    .describe('Jobs go over this Redis. Without it over Postgres.'),
  SVC_LOG_LEVEL: z
    .enum(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'])
    .default('info')
    .describe('What is logged. An embedded start at a terminal begins at `warn`.'),
  SVC_HEARTBEAT_MS: positiveMs.default(15_000).describe('The longest silence of a stream, in milliseconds.'),
  SVC_ALLOWED_HOSTS: list.describe(
    'Further names in the header `Host`, with commas between them, beside those of loopback and, where it listens elsewhere, the addresses of the machine.',
  ),
  SVC_ALLOWED_ORIGINS: list.describe('Further origins whose pages may call, with commas between them.'),
  SVC_AUTH: z.enum(['off', 'keys']).default('off').describe('`keys`: every call needs `Authorization: Bearer svc_…`.'),
  SVC_PROVIDER_CHECK: z.enum(['enforce', 'off']).default('enforce').describe('`off`: cities may be made whose provider is not ready.'),
  // Agents call back. A worker of a cluster does not serve the API itself and cannot know where it is reached.
  SVC_API_URL: web
    .optional()
    .describe('Where agents reach the API. Without it its own address; a worker that does not serve the API has to be told.'),
  // Without an age the log is kept for ever; an operator of a busy supervisor has to be able to bound the disk.
  SVC_EVENT_RETENTION: retention('leave it away to keep them for ever')
    .optional()
    .describe(
      'How long events are kept, such as `30d`, and an hour at the least; up to a quarter longer, as whole partitions are dropped. Without it for ever.',
    ),
  // Who did what is asked for months later; the number keeps a busy supervisor's disk bounded.
  SVC_AUDIT_RETENTION: retention('such as 3650d to keep them for ten years')
    .prefault('90d')
    .describe('How long the records of `svc audit` are kept; an hour at the least.'),
  SVC_AUDIT_RECORDS: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(20_000_000)
    .default(2_000_000)
    .describe(
      'How many of them are kept. Beyond that, records of refused requests go, down to a tenth of this number, then records of the city that has the most.',
    ),
  // A full disk stops the database: whoever watches has to hear of it while there is time, and how much that is depends on the host.
  SVC_DISK_WARN_MB: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000_000)
    .default(5_120)
    .describe('Free space below which cities with maintenance say that their disk fills up.'),
  SVC_DISK_FLOOR_MB: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000_000)
    .default(1_024)
    .describe('Free space below which they say that it is nearly full.'),
  // Calls out refuse private addresses; whoever keeps packs or rigs on a server of their own network has to name it.
  SVC_ALLOWED_TARGETS: targets.describe(
    'Hosts, `host:port`, addresses and networks of your own that packs and rigs may come from and adapters be called at, with commas between them.',
  ),
  // Agents write into rigs: what they may have outside of the cities only the operator knows.
  SVC_ALLOWED_PATHS: directories.describe(
    'Directories with commas between them, at and below which rigs may lie as well; the same for every replica and worker.',
  ),
  // Without namespaces agents run as the service's user and can read what it can: only the operator may decide that.
  SVC_RUNNER_ISOLATION: z
    .enum(['auto', 'bubblewrap', 'users', 'none'])
    .default('auto')
    .describe(
      'What isolates agents, git and probes: `bubblewrap` or `users` (it does not start without), `none`, or `auto`: the first of these that can be had. A worker does not start on a host that is out of processes or memory just then.',
    ),
  // Agent processes are as large as what they run; only the operator knows how many of them a host carries.
  SVC_RUNNER_CAPACITY: z.coerce.number().int().min(0).max(10_000).default(100).describe('Sessions that a worker runs at once. 0: none.'),
  SVC_RUNNER_CAPACITY_PER_CITY: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe('Of these, those of one city. Without it nine tenths.'),
  SVC_OPERATION_SLOTS: z.coerce.number().int().min(1).max(1_000).default(8).describe('Operations that a worker runs at once.'),
  SVC_OPERATION_SLOTS_PER_CITY: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .optional()
    .describe('Of these, those of one city. Without it half.'),
  // 0 a second: no limit.
  SVC_RATE_LIMIT_KEY: perSecond
    .default(1_000)
    .describe('Requests a second of one key, or of all without one, in the long run. 0: no limit.'),
  SVC_RATE_LIMIT_KEY_BURST: ceiling.default(10_000).describe('How many of them may come at once.'),
  SVC_RATE_LIMIT_CITY: perSecond.default(2_000).describe('The same for all sessions and limited keys of a city together.'),
  SVC_RATE_LIMIT_CITY_BURST: ceiling.default(20_000).describe('How many of them may come at once.'),
  SVC_REQUESTS_IN_WORK: ceiling.default(256).describe('Requests that a replica works on at once.'),
  SVC_REQUESTS_IN_WORK_PER_KEY: ceiling
    .default(192)
    .describe('Of these, how many one key of all cities may have; a quarter of all while others ask, too.'),
  SVC_REQUESTS_IN_WORK_PER_CITY: ceiling
    .default(128)
    .describe('Of these, how many all sessions and limited keys of a city may have; a sixteenth of all while others ask, too.'),
  SVC_REQUESTS_WAITING: ceiling.default(10_000).describe('Requests of one key or city that may wait for their turn; the next gets 429.'),
  // How many cores Postgres has for one city beside others only the operator knows.
  SVC_DATABASE_CONNECTIONS_PER_CITY: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe('Statements of a city that run at once while it asks for much beside others.'),
  SVC_STREAMS_PER_KEY: ceiling
    .default(5_000)
    .describe(
      'Streams of one key that are open at once at a replica, and its reads that wait. Twice as many may come back at once, each from an old place of its own.',
    ),
  SVC_STREAMS_PER_CITY: ceiling.default(10_000).describe('Streams of all sessions and limited keys of a city.'),
  // The names are OpenTelemetry's. Agents get them too, but for the headers and the name: what they run may tell of itself in the same place.
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint.describe(
    'Where traces, metrics and logs are sent by OTLP over HTTP, such as `http://collector:4318`. Without one nothing is, and nothing of it is loaded.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint.describe('The whole address for traces, where that is another.'),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: endpoint.describe('The same for metrics.'),
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: endpoint.describe('The same for logs.'),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .optional()
    .describe('Headers of what is sent, such as `authorization=Bearer%20…`, with commas between them.'),
  OTEL_EXPORTER_OTLP_TIMEOUT: positiveMs.default(10_000).describe('How long sending may take, in milliseconds.'),
  OTEL_EXPORTER_OTLP_COMPRESSION: z.enum(['gzip', 'none']).default('none').describe('Whether what is sent is compressed.'),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(['http/json', 'http/protobuf', 'grpc'])
    .default('http/json')
    .describe(
      'JSON over HTTP is what is sent, which collectors take where they take protobuf. `grpc`, which has another port: nothing is sent.',
    ),
  OTEL_TRACES_EXPORTER: exporter.describe('`none`: no traces are sent.'),
  OTEL_METRICS_EXPORTER: exporter.describe('`none`: no metrics are sent; `/metrics` has them all the same.'),
  OTEL_LOGS_EXPORTER: exporter.describe('`none`: no logs are sent; they are on stderr all the same.'),
  OTEL_METRIC_EXPORT_INTERVAL: positiveMs.default(60_000).describe('How often metrics are sent, in milliseconds.'),
  OTEL_SERVICE_NAME: z.string().min(1).max(255).default('supervisor-control-plane').describe('The name of this process there.'),
  OTEL_RESOURCE_ATTRIBUTES: z
    .string()
    .optional()
    .describe('What else is said of it, such as `deployment.environment.name=night`, with commas between.'),
  OTEL_TRACES_SAMPLER: z
    .enum(['always_on', 'always_off', 'traceidratio', 'parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'])
    .default('parentbased_always_on')
    .describe('Which traces are kept; with `parentbased_…` whoever has begun one elsewhere decides.'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1).describe('The share of them that is, with `…traceidratio`.'),
  OTEL_SDK_DISABLED: z
    .enum(['true', 'false'])
    .default('false')
    .transform((said) => said === 'true')
    .describe('`true`: nothing is sent.'),
});
