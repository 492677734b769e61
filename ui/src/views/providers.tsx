import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { get, getStamped, inCity, part, post, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { Button, Confirm, Empty, State } from '../parts/basics.js';
import { Told, useAct } from './admin/act.js';
import { asLines, asPairs, Copy, FormDialog, linesOf, pairsOf, type Input, type Values } from './admin/forms.js';
import { Facts, Frame, Row, Rows, Shown } from './admin/frame.js';
import { useRead } from './admin/read.js';

type Provider = Schemas['ProviderResponse'];
type Readiness = Schemas['ProviderReadiness'];

const INPUTS: readonly Input[] = [
  { name: 'display_name', label: 'Name for people' },
  { name: 'base', label: 'Inherits from', placeholder: 'builtin:claude', hint: 'The provider whose settings it takes.' },
  { name: 'command', label: 'Program' },
  { name: 'args', label: 'Arguments, one a line', kind: 'lines' },
  { name: 'args_append', label: 'Arguments after those of the base, one a line', kind: 'lines' },
  { name: 'acp_command', label: 'Program for the Agent Client Protocol', hint: 'Where it is another one.' },
  { name: 'acp_args', label: 'Its arguments, one a line', kind: 'lines' },
  { name: 'env', label: 'Variables, one a line', kind: 'pairs', hint: 'Values that are masked stay as they are.' },
  {
    name: 'prompt_mode',
    label: 'How the prompt reaches it',
    choices: [
      ['', 'as the base says'],
      ['arg', 'as an argument'],
      ['flag', 'after a flag'],
      ['none', 'not at all'],
    ],
  },
  { name: 'prompt_flag', label: 'That flag' },
  { name: 'ready_delay_ms', label: 'Milliseconds until it is ready', kind: 'number' },
];
const TEXTS = ['display_name', 'base', 'command', 'acp_command', 'prompt_mode', 'prompt_flag'] as const;
const LISTS = ['args', 'args_append', 'acp_args'] as const;

const startOf = (provider: Provider): Values => ({
  ...Object.fromEntries(TEXTS.map((name) => [name, provider[name] ?? ''])),
  ...Object.fromEntries(LISTS.map((name) => [name, asLines(provider[name])])),
  env: asPairs(provider.env),
  ready_delay_ms: provider.ready_delay_ms === undefined ? '' : String(provider.ready_delay_ms),
});

/** What is different from what was there. */
function bodyOf(values: Values, before: Values): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  const changed = (name: string): boolean => (values[name] ?? '') !== (before[name] ?? '');
  for (const name of TEXTS) if (changed(name)) body[name] = (values[name] ?? '').trim();
  for (const name of LISTS) if (changed(name)) body[name] = linesOf(values[name]);
  if (changed('env')) body.env = pairsOf(values.env);
  if (changed('ready_delay_ms') && values.ready_delay_ms !== '') body.ready_delay_ms = Number(values.ready_delay_ms);
  return body;
}

const tone = ({ status }: Readiness): 'good' | 'warn' | 'bad' | 'quiet' =>
  /^(ready|configured|ok)$/.test(status) ? 'good' : status === 'needs_auth' ? 'warn' : status === 'not_installed' ? 'quiet' : 'bad';
/** What is not asked about stands behind all that is. */
const RANK = { good: 0, warn: 1, bad: 2, quiet: 3 };
const rankOf = (state: Readiness | undefined): number => (state === undefined ? 4 : RANK[tone(state)]);

/** Programs that agents are made of: what the city says of them, whether they can be used, and how they are logged in. */
export function Providers(): ReactNode {
  const { city } = useParams({ from: '/c/$city/providers' });
  const { new: adding, edit } = useSearch({ from: '/c/$city/providers' });
  const navigate = useNavigate({ from: '/c/$city/providers' });
  const [fresh, setFresh] = useState(0);
  const reading = useRead(
    `providers ${city}`,
    async (signal) => {
      const { body, revision } = await getStamped<{ items: Provider[] }>(inCity(city, 'providers'), { query: { limit: 500 }, signal });
      return { providers: body.items, revision };
    },
    { city, on: /^provider\.|^config\.reloaded/ },
  );
  const readiness = useRead(`readiness ${city} ${fresh}`, (signal) =>
    get<Schemas['ProviderReadinessResponse']>(inCity(city, 'provider-readiness'), {
      query: { fresh: fresh > 0 ? true : undefined },
      signal,
    }),
  );
  const act = useAct();
  const not = useForbidden(needs.createProvider, needs.updateProvider);
  const configure = useForbidden(needs.deleteProvider);
  const [leaving, setLeaving] = useState<Provider>();
  const show = (search: { new?: string; edit?: string }): void => void navigate({ search, replace: true });
  useKeys('Providers', [
    ...(not === undefined ? [{ keys: 'c', label: 'new provider', run: () => show({ new: '1' }) }] : []),
    { keys: 'r', label: 'ask the hosts again', run: () => setFresh((n) => n + 1) },
  ]);
  const states = readiness.data?.providers ?? {};
  const edited = reading.data?.providers.find(({ name }) => name === edit);
  return (
    <Frame
      title="Providers"
      city={city}
      about="Programs that agents are made of"
      actions={
        <>
          <Button hotkey="r" onClick={() => setFresh((n) => n + 1)}>
            Ask the hosts again
          </Button>
          <Button look="primary" hotkey="c" not={not} onClick={() => show({ new: '1' })}>
            New provider
          </Button>
        </>
      }
    >
      <Told acting={act} />
      <Shown of={reading}>
        {({ providers }) => {
          const own = providers.filter(({ city_level }) => city_level);
          const others = providers
            .filter(({ city_level }) => !city_level)
            .sort((a, b) => rankOf(states[a.name]) - rankOf(states[b.name]) || a.name.localeCompare(b.name));
          return (
            <>
              <h2 className="text-sm font-semibold">Of this city</h2>
              {own.length === 0 && <Empty title="The city says nothing of providers of its own" />}
              <Rows label="Providers of this city">
                {own.map((provider) => (
                  <OneProvider key={provider.name} provider={provider} state={states[provider.name]}>
                    <Button data-open not={not} onClick={() => show({ edit: provider.name })}>
                      Edit
                    </Button>
                    <Button look="bad" not={configure} onClick={() => setLeaving(provider)}>
                      Remove
                    </Button>
                  </OneProvider>
                ))}
              </Rows>
              <h2 className="pt-2 text-sm font-semibold">Built in</h2>
              <Rows label="Providers that are built in">
                {others.map((provider) => (
                  <OneProvider key={provider.name} provider={provider} state={states[provider.name]} />
                ))}
              </Rows>
            </>
          );
        }}
      </Shown>
      {adding !== undefined && (
        <FormDialog
          title="New provider"
          action="Create the provider"
          not={not}
          inputs={[{ name: 'name', label: 'Name', required: true, hint: 'Letters, digits, _ and -.' }, ...INPUTS]}
          onClose={() => show({})}
          onSave={async (values, key) => {
            await post(inCity(city, 'providers'), { name: values.name?.trim(), ...bodyOf(values, {}) }, { idempotencyKey: key });
            reading.again();
          }}
        />
      )}
      {edited !== undefined && (
        <FormDialog
          key={edited.name}
          title={`Edit ${edited.name}`}
          action="Save"
          not={not}
          inputs={INPUTS}
          start={startOf(edited)}
          revision={reading.data?.revision}
          onClose={() => show({})}
          onSave={async (values, _key, { start, ifMatch }) => {
            const body = bodyOf(values, start);
            if (Object.keys(body).length === 0) return;
            await request('PATCH', inCity(city, `provider/${part(edited.name)}`), { body, ifMatch });
            reading.again();
          }}
        />
      )}
      {leaving !== undefined && (
        <Confirm
          title={`Remove ${leaving.name}?`}
          action={`Remove ${leaving.name}`}
          onClose={() => setLeaving(undefined)}
          onYes={() =>
            void act.run(`remove ${leaving.name}`, async () => {
              await request('DELETE', inCity(city, `provider/${part(leaving.name)}`), { ifMatch: reading.data?.revision });
              reading.again();
              return `The city says nothing of ${leaving.name} any more`;
            })
          }
        >
          What the city says of it is gone{leaving.builtin ? '; the provider that is built in counts again' : ''}. Agents that use it are
          refused first.
        </Confirm>
      )}
    </Frame>
  );
}

function OneProvider({ provider, state, children }: { provider: Provider; state: Readiness | undefined; children?: ReactNode }): ReactNode {
  const program = [provider.command, ...(provider.args ?? []), ...(provider.args_append ?? [])].filter((word) => word !== undefined);
  const env = Object.keys(provider.env ?? {});
  return (
    <Row name={provider.name}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
        <h3 className="words font-semibold">{visible(provider.display_name ?? provider.name)}</h3>
        {provider.display_name !== undefined && provider.display_name !== provider.name && (
          <code className="text-xs text-muted">{visible(provider.name)}</code>
        )}
        {state !== undefined && <State tone={tone(state)}>{state.status.replaceAll('_', ' ')}</State>}
        {state?.version !== undefined && <span className="text-xs text-muted">{visible(state.version)}</span>}
        {children !== undefined && <div className="ml-auto flex flex-wrap gap-1.5">{children}</div>}
      </div>
      {state?.detail !== undefined && <p className="words text-sm text-muted">{visible(state.detail)}</p>}
      {state?.remedy !== undefined && (
        <div className="flex flex-wrap items-center gap-2 text-sm">
          <span className="text-muted">On a worker host, as the service’s user:</span>
          <code className="words rounded bg-raised px-1.5 py-0.5 text-xs">{visible(state.remedy)}</code>
          <Copy text={state.remedy} />
        </div>
      )}
      {(provider.city_level || program.length > 0) && (
        <Facts
          facts={[
            ['Inherits from', provider.base === undefined ? undefined : visible(provider.base)],
            ['Program', program.length === 0 ? undefined : <code className="text-xs">{visible(program.join(' '))}</code>],
            ['Variables', env.length === 0 ? undefined : visible(env.join(', '))],
            [
              'Network',
              provider.network === undefined
                ? undefined
                : Array.isArray(provider.network)
                  ? visible(provider.network.join(', '))
                  : provider.network,
            ],
          ]}
        />
      )}
    </Row>
  );
}
