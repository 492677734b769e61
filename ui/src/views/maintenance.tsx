import { useParams } from '@tanstack/react-router';
import { useRef, type ReactNode } from 'react';
import { get, inCity, newKey, post, Refusal } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { LoggedEvent, Schemas } from '../api/types.js';
import { counted } from '../lib/counted.js';
import { ago, visible } from '../lib/text.js';
import { Age, Button, Empty, State, type Tone } from '../parts/basics.js';
import { Told, useAct } from './admin/act.js';
import { Facts, Frame, Row, Rows, Section, Shown } from './admin/frame.js';
import { useRead } from './admin/read.js';
import { bytes } from './admin/units.js';

type Run = Schemas['MaintenanceRunBody'];
const IDLE_MS = 15_000;
const BUSY_MS = 2_000;
/** An event that was missed is made up for after this. */
const ASK_MS = 300_000;
const OFF: Schemas['MaintenanceStatusBody'] = { disk: 'ok', enabled: false, history: [], in_flight: false, interval_seconds: 0 };
const DISK: Readonly<Record<Schemas['MaintenanceStatusBody']['disk'], Tone>> = { ok: 'good', warn: 'warn', critical: 'bad' };

/** What is old and goes, when, and what the last cycles have removed. */
export function Maintenance(): ReactNode {
  const { city } = useParams({ from: '/c/$city/maintenance' });
  const isWanted = useWanted(city);
  const status = useRead(
    `maintenance ${city}`,
    async (signal) => {
      const { store_health: store } = await get<Schemas['StatusBody']>(inCity(city, 'status'), { signal });
      if (!(await isWanted.now(signal))) return { store, ...OFF };
      try {
        return {
          store,
          ...(await get<Schemas['MaintenanceStatusBody']>(inCity(city, 'maintenance/status'), { query: { history: 20 }, signal })),
        };
      } catch (error) {
        // It has been switched off in between.
        if (error instanceof Refusal && error.status === 503 && error.message.startsWith('maintenance_disabled')) return { store, ...OFF };
        throw error;
      }
    },
    { city, on: /^(store|storage|maintenance|bead_store|config)\./, event: isWanted.heard, everyMs: IDLE_MS },
  );
  const running = status.data?.in_flight === true;
  // A cycle that goes on is looked at more often, until it has ended.
  useRead(`maintenance ${city} ${running}`, async () => (running ? status.again() : undefined), running ? { everyMs: BUSY_MS } : {});
  const act = useAct();
  const notSeal = useForbidden(needs.rotateEvents);
  const not = useForbidden(needs.triggerMaintenanceDoltGc);
  const begin = (): void =>
    void act.run('begin', async () => {
      const { accepted } = await post<Schemas['MaintenanceTriggerBody']>(inCity(city, 'maintenance/dolt-gc'));
      status.again();
      return accepted ? 'A cycle begins' : 'A cycle is at work already';
    });
  const seal = (): void =>
    void act.run('seal', async () => {
      await post(inCity(city, 'events/rotate'), undefined, { idempotencyKey: newKey() });
      return 'The log is sealed so far; what is sealed stays readable until its retention ends';
    });
  return (
    <Frame
      title="Maintenance"
      city={city}
      about="What is old, and goes"
      actions={
        <>
          <Button not={notSeal} onClick={seal}>
            Seal the event log
          </Button>
          <Button
            look="primary"
            not={not ?? (running ? 'a cycle is at work' : status.data?.enabled === false ? 'maintenance is switched off' : undefined)}
            onClick={begin}
          >
            Begin a cycle
          </Button>
        </>
      }
    >
      <Told acting={act} />
      <Shown of={status}>
        {({ enabled, disk, in_flight, in_flight_start, interval_seconds, next_scheduled, history, store }) => (
          <>
            <div className="rounded-xl border border-line bg-panel px-4 py-3">
              <Facts
                facts={[
                  [
                    'Now',
                    in_flight ? (
                      <State tone="accent" long>
                        a cycle is at work{in_flight_start === undefined ? '' : `, since ${new Date(in_flight_start).toLocaleTimeString()}`}
                      </State>
                    ) : (
                      <State tone="quiet">nothing is at work</State>
                    ),
                  ],
                  [
                    'By itself',
                    enabled ? (
                      `every ${ago(interval_seconds * 1000)}`
                    ) : (
                      <State tone="warn" long>
                        switched off: [maintenance.dolt] of city.toml has enabled = false
                      </State>
                    ),
                  ],
                  ['Next', next_scheduled === undefined ? undefined : new Date(next_scheduled).toLocaleString()],
                  [
                    'Disk',
                    <State key="disk" tone={DISK[disk]}>
                      {disk === 'ok' ? 'has room' : disk === 'warn' ? 'is filling' : 'is nearly full'}
                    </State>,
                  ],
                  ['Store', store === undefined ? undefined : `${bytes(store.size_bytes)}, ${counted(store.live_rows, 'row')}`],
                ]}
              />
            </div>
            <Section title="Cycles">
              {(history ?? []).length === 0 && <Empty title="There was no cycle yet" />}
              <Rows label="Cycles">
                {(history ?? []).map((run) => (
                  <Cycle key={run.started_at} run={run} />
                ))}
              </Rows>
            </Section>
          </>
        )}
      </Shown>
    </Frame>
  );
}

/** Whether the files of the city want any: asked before, as the service refuses to say how it is with what is off. */
function useWanted(city: string): { now: (signal: AbortSignal) => Promise<boolean>; heard: (told: LoggedEvent) => void } {
  const asked = useRef<{ city: string; change: number; at: number; is: boolean }>(undefined);
  const change = useRef(0);
  return {
    now: async (signal) => {
      const last = asked.current;
      if (last?.city === city && last.change === change.current && Date.now() - last.at < ASK_MS) return last.is;
      const asking = { city, change: change.current, at: Date.now() };
      const query = { path: 'maintenance.dolt.enabled', limit: 1 };
      const { values } = await get<Schemas['ConfigExplainResponse']>(inCity(city, 'config/explain'), { query, signal });
      const is = values?.[0]?.value === true;
      asked.current = { ...asking, is };
      return is;
    },
    heard: ({ type }) => {
      if (type.startsWith('config.')) change.current += 1;
    },
  };
}

function Cycle({ run }: { run: Run }): ReactNode {
  const { started_at, duration_s, cause, err, skipped, removed, before_bytes, after_bytes, stage, warnings } = run;
  const gone = [
    removed.sessions > 0 ? counted(removed.sessions, 'session') : '',
    removed.runs > 0 ? counted(removed.runs, 'run') : '',
    removed.folders > 0 ? counted(removed.folders, 'folder') : '',
  ].filter((one) => one !== '');
  return (
    <Row name={started_at}>
      <div className="flex flex-wrap items-baseline gap-x-4 gap-y-1 text-sm">
        <State tone={err !== undefined ? 'bad' : skipped !== undefined ? 'warn' : 'good'}>
          {err !== undefined
            ? `failed at ${stage.replaceAll('_', ' ')}`
            : skipped !== undefined
              ? 'left out: the disk is nearly full'
              : 'done'}
        </State>
        <span>{cause === 'request' ? 'asked for' : 'by itself'}</span>
        <span className="text-muted">took {duration_s.toFixed(1)} s</span>
        <span>{gone.length === 0 ? 'nothing was old' : `removed ${gone.join(', ')}`}</span>
        {before_bytes !== after_bytes && (
          <span className="text-muted">
            {bytes(before_bytes)} → {bytes(after_bytes)}
          </span>
        )}
        <span className="ml-auto text-xs text-muted">
          <Age at={started_at} />
        </span>
      </div>
      {err !== undefined && <p className="words text-sm text-bad">{visible(err)}</p>}
      {warnings.map((warning) => (
        <p key={warning} className="words text-sm text-warn">
          {visible(warning)}
        </p>
      ))}
    </Row>
  );
}
