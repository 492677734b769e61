import { Link } from '@tanstack/react-router';
import { useState, useSyncExternalStore, type ReactNode } from 'react';
import { get, Refusal } from '../api/client.js';
import { useSigning, type Signing } from '../api/info.js';
import type { Schemas } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { ago, visible } from '../lib/text.js';
import { cities } from '../live/supervisor.js';
import { Button, State, type Tone } from '../parts/basics.js';
import { Copy } from './admin/forms.js';
import { Frame, Section, Shown } from './admin/frame.js';
import { useRead } from './admin/read.js';

const EVERY_MS = 5_000;
const READY: Readonly<Record<string, string>> = {
  database: 'the database answers',
  writes: 'the database takes changes',
  queue: 'the queue answers',
  lifecycle: 'it is not on its way to an end',
  listener: 'the database tells of what happens',
};

interface Found {
  readonly name: string;
  readonly tone: Tone;
  readonly word: string;
  readonly detail?: string | undefined;
  readonly remedy?: string | undefined;
}

/** How the service is, what its hosts have, and what somebody should mend: what `svc doctor` says, as it is now. */
export function Health(): ReactNode {
  const [fresh, setFresh] = useState(0);
  const signing = useSigning();
  const fleet = useSyncExternalStore(cities.subscribe, cities.snapshot);
  const health = useRead('health', (signal) => get<Schemas['SupervisorHealthOutputBody']>('/health', { signal }), { everyMs: EVERY_MS });
  const ready = useRead('ready', async (signal): Promise<Found[]> => readyParts(signal), { everyMs: EVERY_MS });
  const tools = useRead(`readiness ${fresh}`, (signal) =>
    get<Schemas['ReadinessResponse']>('/v0/readiness', { query: { fresh: fresh > 0 ? true : undefined }, signal }),
  );
  useKeys('Health', [{ keys: 'r', label: 'ask the hosts again', run: () => setFresh((n) => n + 1) }]);
  const failed = fleet.rows.filter(({ status, error }) => status === 'init_failed' || error !== undefined);
  return (
    <Frame
      title="Health"
      about={
        health.data === undefined ? 'How the service is' : `Version ${health.data.version}, up for ${ago(health.data.uptime_sec * 1000)}`
      }
      actions={
        <Button hotkey="r" onClick={() => setFresh((n) => n + 1)}>
          Ask the hosts again
        </Button>
      }
    >
      <Section title="The service">
        <Shown of={ready}>
          {(found) => <Findings found={[...found, ...(signing.kind === 'in' ? aboutService(signing, location.protocol) : [])]} />}
        </Shown>
      </Section>
      {failed.length > 0 && (
        <Section title="Cities that could not start">
          <Findings
            found={failed.map(({ name, error }) => ({ name, tone: 'bad', word: 'failed', detail: error }))}
            link={(name) => (
              <Link to="/c/$city/config" params={{ city: name }} className="font-medium underline">
                {visible(name)}
              </Link>
            )}
          />
        </Section>
      )}
      <Section title="Providers and tools on the hosts">
        <Shown of={tools}>
          {({ items }) => (
            <Findings
              found={Object.values(items)
                .map((item) => ({ ...item, at: rankOf(item.status) }))
                .sort((a, b) => a.at - b.at || a.name.localeCompare(b.name))
                .map(({ display_name, status, detail, remedy, version }) => ({
                  name: display_name,
                  tone: toneOf(status),
                  word: status.replaceAll('_', ' '),
                  detail: [version, detail].filter((one) => one !== undefined).join(' · '),
                  remedy,
                }))}
            />
          )}
        </Shown>
      </Section>
    </Frame>
  );
}

const toneOf = (status: string): Tone =>
  /^(configured|ready|ok)$/.test(status) ? 'good' : status === 'needs_auth' ? 'warn' : status === 'not_installed' ? 'quiet' : 'bad';
const rankOf = (status: string): number => ['bad', 'warn', 'good', 'quiet', 'accent'].indexOf(toneOf(status));

/** Parts that the process which answers needs; 503 says which do not work. */
async function readyParts(signal: AbortSignal): Promise<Found[]> {
  try {
    const { parts } = await get<Schemas['SupervisorReadyOutputBody']>('/ready', { signal });
    return (parts ?? []).map((name) => ({ name, tone: 'good', word: 'works', detail: READY[name] }));
  } catch (error) {
    if (!(error instanceof Refusal) || error.errors.length === 0) throw error;
    return error.errors.map(({ location = 'ready', message }) => ({ name: location, tone: 'bad', word: 'does not work', detail: message }));
  }
}

/** What of its set-up may be a mistake. */
function aboutService({ info, aheadMs }: Extract<Signing, { kind: 'in' }>, protocol: string): Found[] {
  const { auth, read_only, tls, deployment, version } = info;
  const found: Found[] = [
    read_only
      ? {
          name: 'keys',
          tone: 'bad',
          word: 'read only',
          detail: 'it listens to the network and asks for no keys: everybody may read, nobody may change anything',
          remedy: 'SVC_AUTH=keys svc serve',
        }
      : auth === 'keys'
        ? { name: 'keys', tone: 'good', word: 'are asked for' }
        : {
            name: 'keys',
            tone: 'warn',
            word: 'off',
            detail: 'who reaches this machine may do everything',
            remedy: 'SVC_AUTH=keys svc serve',
          },
  ];
  if (!tls && protocol === 'http:' && !/^(localhost|127\.|\[::1\])/.test(location.hostname))
    found.push({ name: 'transport', tone: 'warn', word: 'plain HTTP', detail: 'keys and answers go over the network as they are' });
  // Not that of `Date`, which may be of a proxy between them.
  const skew = Math.abs(aheadMs);
  if (skew > 120_000)
    found.push({ name: 'clock', tone: 'warn', word: 'differs', detail: `by ${ago(skew)} from the clock of this browser` });
  if (deployment === undefined) return found;
  const { database, queue, processes } = deployment;
  found.push({
    name: 'schema',
    tone: database.missing.length > 0 ? 'bad' : database.unknown.length > 0 ? 'warn' : 'good',
    word: database.missing.length > 0 ? 'behind' : database.unknown.length > 0 ? 'newer than this release' : 'complete',
    detail: `PostgreSQL ${database.version}, schema ${database.schema}`,
    ...(database.missing.length > 0 ? { remedy: 'node dist/src/entry/migrate.js' } : {}),
  });
  found.push({ name: 'jobs', tone: 'good', word: queue === 'redis' ? 'on Redis' : 'on PostgreSQL' });
  const others = processes.filter((one) => one.version !== version);
  if (others.length > 0)
    found.push({
      name: 'versions',
      tone: 'warn',
      word: 'differ',
      detail: `${version} answers; ${others.map((one) => `${one.role} on ${one.host} has ${one.version}`).join(', ')}`,
    });
  if (!processes.some(({ role }) => role !== 'api'))
    found.push({
      name: 'workers',
      tone: 'bad',
      word: 'none',
      detail: 'nothing that is accepted is done',
      remedy: 'SVC_ROLE=worker svc serve',
    });
  return found;
}

function Findings({ found, link }: { found: readonly Found[]; link?: (name: string) => ReactNode }): ReactNode {
  return (
    <ul className="divide-y divide-line rounded-xl border border-line bg-panel">
      {found.map(({ name, tone, word, detail, remedy }) => (
        <li
          key={`${name} ${word}`}
          data-row={name}
          tabIndex={-1}
          className="flex flex-wrap items-baseline gap-x-4 gap-y-1 px-4 py-2 text-sm"
        >
          <span className="words w-44 font-medium">{link === undefined ? visible(name) : link(name)}</span>
          <span className="w-36">
            <State tone={tone}>{visible(word)}</State>
          </span>
          {detail !== undefined && detail !== '' && <span className="words min-w-0 flex-1 basis-60 text-muted">{visible(detail)}</span>}
          {remedy !== undefined && (
            <span className="flex w-full flex-wrap items-center gap-2 md:pl-48">
              <code className="words rounded bg-raised px-1.5 py-0.5 text-xs">{visible(remedy)}</code>
              <Copy text={remedy} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
