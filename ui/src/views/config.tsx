import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { get, getStamped, inCity, post, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { counted } from '../lib/counted.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { Button, Problem, State } from '../parts/basics.js';
import { RefusedFiles } from '../parts/refused-files.js';
import { Told, useAct } from './admin/act.js';
import { FormDialog, linesOf } from './admin/forms.js';
import { Facts, Frame, Section, Shown, Tabs } from './admin/frame.js';
import { useRead } from './admin/read.js';
import { Draft } from './config/draft.js';
import { Revisions } from './config/revisions.js';
import { ConfigValues } from './config/values.js';

const TABS = [
  ['', 'Now'],
  ['values', 'Values'],
  ['revisions', 'Revisions'],
  ['draft', 'Try a change'],
] as const;
export const CHANGED = /^config\.|^(agent|rig|provider|pack|patch)\./;

/** What a city is told by its files: what counts, since when, where each value is written, and what was refused. */
export function Config(): ReactNode {
  const { city } = useParams({ from: '/c/$city/config' });
  const { tab = '', edit } = useSearch({ from: '/c/$city/config' });
  const navigate = useNavigate({ from: '/c/$city/config' });
  const reading = useRead(`config ${city}`, (signal) => getStamped<Schemas['ConfigResponse']>(inCity(city, 'config'), { signal }), {
    city,
    on: CHANGED,
  });
  const act = useAct();
  const not = useForbidden(needs.reloadConfig);
  // What agents reach is part of what is run.
  const commands = useForbidden(needs.updateConfig);
  const reload = (): void =>
    void act.run('reload', async () => {
      const { outcome, revision, changed_total, warnings } = await post<Schemas['ConfigReloadBody']>(inCity(city, 'config/reload'));
      reading.again();
      const more = warnings.length === 0 ? '' : `; ${warnings.join('; ')}`;
      return outcome === 'no_change'
        ? `The files say what counts already: revision ${revision}${more}`
        : `Revision ${revision} counts: ${changed_total === 1 ? '1 key has' : `${changed_total} keys have`} changed${more}`;
    });
  useKeys('Configuration', not === undefined ? [{ keys: 'R', label: 'read the files again', run: reload }] : []);
  const config = reading.data?.body;
  return (
    <Frame
      title="Configuration"
      city={city}
      wide
      about={config?.revision === undefined ? 'What the city’s files say' : `Revision ${config.revision} counts`}
      actions={
        <Button hotkey="R" not={not} disabled={act.busy !== undefined} onClick={reload}>
          {act.busy === 'reload' ? 'Reading …' : 'Read the files again'}
        </Button>
      }
      tabs={
        <Tabs
          now={tab}
          tabs={TABS.map(([name, label]) => ({ name, label }))}
          link={(name) => ({ to: '/c/$city/config', params: { city }, search: name === '' ? {} : { tab: name } })}
        />
      }
    >
      <Told acting={act} />
      {config?.rejected !== undefined && <RefusedFiles rejected={config.rejected} revision={config.revision} />}
      {tab === 'values' ? (
        <ConfigValues city={city} />
      ) : tab === 'revisions' ? (
        <Revisions city={city} />
      ) : tab === 'draft' ? (
        <Draft city={city} />
      ) : (
        <Shown of={reading}>
          {({ body }) => (
            <Now city={city} config={body} not={commands} onNetwork={() => void navigate({ search: { edit: 'network' }, replace: true })} />
          )}
        </Shown>
      )}
      {edit === 'network' && config !== undefined && (
        <FormDialog
          title="What agents reach"
          action="Save"
          not={commands}
          start={networkStart(config.workspace.network)}
          revision={reading.data?.revision}
          inputs={[
            {
              name: 'rule',
              label: 'Network',
              choices: [
                ['all', 'everything'],
                ['api', 'this service, and nothing else'],
                ['hosts', 'this service, and the hosts below'],
              ],
            },
            { name: 'hosts', label: 'Hosts, one a line', kind: 'lines', placeholder: 'registry.example.com' },
          ]}
          onClose={() => void navigate({ search: {}, replace: true })}
          onSave={async ({ rule = 'all', hosts }, _key, { ifMatch }) => {
            const network = rule === 'hosts' ? linesOf(hosts) : rule;
            await request('PATCH', inCity(city, 'config'), { body: { network }, ifMatch });
            reading.again();
          }}
        />
      )}
    </Frame>
  );
}

const networkStart = (rule: Schemas['NetworkRule'] | undefined): Record<string, string> =>
  Array.isArray(rule) ? { rule: 'hosts', hosts: rule.join('\n') } : { rule: rule ?? 'all', hosts: '' };

interface NowProps {
  readonly city: string;
  readonly config: Schemas['ConfigResponse'];
  readonly not: string | undefined;
  readonly onNetwork: () => void;
}

function Now({ city, config, not, onNetwork }: NowProps): ReactNode {
  const { workspace, hash, patches } = config;
  const agents = config.agents ?? [];
  const rigs = config.rigs ?? [];
  const network = workspace.network ?? 'all';
  return (
    <>
      <Section
        title="The city"
        actions={
          <Button not={not} onClick={onNetwork}>
            Change the network
          </Button>
        }
      >
        <div className="rounded-xl border border-line bg-panel px-4 py-3">
          <Facts
            facts={[
              ['Name', visible(workspace.name)],
              ['Written as', workspace.declared_name === workspace.name ? undefined : workspace.declared_name],
              ['Provider', workspace.provider === undefined ? undefined : visible(workspace.provider)],
              ['Beads begin with', workspace.prefix === undefined ? undefined : `${visible(workspace.prefix)}-`],
              ['Sessions at once', workspace.max_active_sessions],
              ['Template of sessions', workspace.session_template === undefined ? undefined : visible(workspace.session_template)],
              [
                'Agents reach',
                Array.isArray(network) ? visible(network.join(', ')) : network === 'api' ? 'this service only' : 'everything',
              ],
              ['State', workspace.suspended ? <State tone="warn">suspended</State> : <State tone="good">agents may run</State>],
              ['Hash of all files', hash === undefined ? undefined : <code className="text-xs">{hash}</code>],
            ]}
          />
        </div>
      </Section>
      <div className="grid gap-4 md:grid-cols-2">
        <Section title={`Agents (${agents.length})`}>
          <ul className="divide-y divide-line rounded-xl border border-line bg-panel">
            {agents.map(({ name, dir, provider, suspended }) => {
              const id = dir === undefined || dir === '' ? name : `${dir}/${name}`;
              return (
                <li key={id} className="flex flex-wrap items-baseline gap-x-3 px-4 py-2 text-sm">
                  <Link
                    to="/c/$city/config"
                    params={{ city }}
                    search={{ tab: 'values', path: `agents.${id.replaceAll('/', '.')}` }}
                    className="words font-medium hover:underline"
                  >
                    {visible(id)}
                  </Link>
                  <span className="text-muted">{provider === undefined ? '' : visible(provider)}</span>
                  {suspended && <State tone="warn">suspended</State>}
                </li>
              );
            })}
            {agents.length === 0 && <li className="px-4 py-2 text-sm text-muted">The files name none.</li>}
          </ul>
        </Section>
        <Section title={`Rigs (${rigs.length})`}>
          <ul className="divide-y divide-line rounded-xl border border-line bg-panel">
            {rigs.map(({ name, path, suspended }) => (
              <li key={name} className="flex flex-wrap items-baseline gap-x-3 px-4 py-2 text-sm">
                <Link
                  to="/c/$city/config"
                  params={{ city }}
                  search={{ tab: 'values', path: `rigs.${name}` }}
                  className="words font-medium hover:underline"
                >
                  {visible(name)}
                </Link>
                <span className="truncate text-muted">{visible(path)}</span>
                {suspended && <State tone="warn">suspended</State>}
              </li>
            ))}
            {rigs.length === 0 && <li className="px-4 py-2 text-sm text-muted">The files name none.</li>}
          </ul>
        </Section>
      </div>
      {patches !== undefined && patches.agent_count + patches.provider_count + patches.rig_count > 0 && (
        <p className="text-sm">
          <Link to="/c/$city/patches" params={{ city }} className="text-accent underline">
            {counted(patches.agent_count + patches.provider_count + patches.rig_count, 'patch changes', 'patches change')}
          </Link>{' '}
          what packs bring.
        </p>
      )}
      <Warnings city={city} />
    </>
  );
}

/** What is not forbidden and may be a mistake, of the files as they are on the disk now. */
function Warnings({ city }: { city: string }): ReactNode {
  const reading = useRead(
    `validate ${city}`,
    (signal) => get<Schemas['ConfigValidateOutputBody']>(inCity(city, 'config/validate'), { signal }),
    {
      city,
      on: CHANGED,
    },
  );
  if (reading.error !== undefined) return <Problem error={reading.error} onRetry={reading.again} />;
  const warnings = reading.data?.warnings ?? [];
  if (reading.data === undefined) return null;
  return (
    <Section title="The files on the disk">
      <State tone={reading.data.valid ? (warnings.length > 0 ? 'warn' : 'good') : 'bad'}>
        {reading.data.valid ? (warnings.length > 0 ? 'they compose, with warnings' : 'they compose') : 'they do not compose'}
      </State>
      <ul className="flex flex-col gap-1">
        {warnings.map((warning) => (
          <li key={warning} className="words font-mono text-[13px]">
            {visible(warning)}
          </li>
        ))}
      </ul>
    </Section>
  );
}
