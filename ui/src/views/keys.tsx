import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { part, post, request } from '../api/client.js';
import { useCaller, useForbidden, useSigning } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import { renewKey } from '../api/key.js';
import type { Schemas } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { RIGHTS } from '../lib/may.js';
import { serviceClock } from '../lib/service-clock.js';
import { visible } from '../lib/text.js';
import { Button, Empty, Modal, State } from '../parts/basics.js';
import { Told, useAct } from './admin/act.js';
import { Copy, FormDialog, linesOf, Sure } from './admin/forms.js';
import { Ago, Facts, Frame, More, Row, Rows, Shown } from './admin/frame.js';
import { usePages } from './admin/pages.js';

type Key = Schemas['ApiKeyResponse'];
type Made = Schemas['ApiKeyCreatedResponse'];
const MEANS: Readonly<Record<(typeof RIGHTS)[number], string>> = {
  operate: 'sessions, messages, beads, mail, start and stop',
  configure: 'agents, rigs, patches, cities',
  commands: 'what is run: providers, variables, packs',
  audit: 'reading who did what',
};
const GRACE = [
  ['0', 'is good no more'],
  ['3600', 'is good for another hour'],
  ['86400', 'is good for another day'],
] as const;
const EVERY_MS = 15_000;

/** Who may do what here: keys, shown once when they are made. */
export function Keys(): ReactNode {
  const { new: making, rotate } = useSearch({ from: '/keys' });
  const navigate = useNavigate({ from: '/keys' });
  const reading = usePages<Key>('/v0/keys', { limit: 200 }, { everyMs: EVERY_MS });
  const signing = useSigning();
  const caller = useCaller();
  const not = useForbidden(needs.createKey, needs.rotateKey, needs.deleteKey);
  const act = useAct();
  /** What is shown once; no longer anywhere when the dialog closes. */
  const [made, setMade] = useState<Made>();
  const [leaving, setLeaving] = useState<Key>();
  const show = (search: { new?: string; rotate?: string }): void => void navigate({ search, replace: true });
  useKeys('Keys', not === undefined ? [{ keys: 'c', label: 'new key', run: () => show({ new: '1' }) }] : []);
  const rotated = reading.data?.items.find(({ id }) => id === rotate);
  return (
    <Frame
      title="Keys"
      about={
        signing.kind === 'in' && signing.info.auth === 'off' ? (
          <span className="text-warn">The service asks nobody for a key: start it with SVC_AUTH=keys</span>
        ) : (
          'Who may do what here'
        )
      }
      actions={
        <Button look="primary" hotkey="c" not={not} onClick={() => show({ new: '1' })}>
          New key
        </Button>
      }
    >
      <Told acting={act} />
      <Shown of={reading}>
        {({ items, more }) => (
          <>
            {items.length === 0 && (
              <Empty title="There is no key">
                <p>Make one for each person, program and adapter, with no more than it needs.</p>
              </Empty>
            )}
            <Rows label="Keys">
              {items.map((key) => (
                <Row key={key.id} name={key.id}>
                  <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
                    <div className="min-w-0 flex-1 basis-44">
                      <h2 className="words font-semibold">
                        {visible(key.name)} {key.id === caller?.id && <span className="text-sm font-normal text-muted">(this page’s)</span>}
                      </h2>
                      <code className="words text-xs text-muted">{key.id}</code>
                    </div>
                    <Expiry at={key.expires_at} />
                    <div className="flex flex-wrap gap-1.5">
                      <Button data-open not={not} onClick={() => show({ rotate: key.id })}>
                        Rotate
                      </Button>
                      <Button look="bad" not={not} onClick={() => setLeaving(key)}>
                        Revoke
                      </Button>
                    </div>
                  </div>
                  <Facts
                    facts={[
                      ['May', key.rights.length === 0 ? 'read' : `read, ${key.rights.join(', ')}`],
                      ['Cities', key.cities === null ? 'all' : visible(key.cities.join(', '))],
                      ['Made', <Ago key="made" at={key.created_at} />],
                      ['Last used', key.last_used_at === null ? 'never' : <Ago key="used" at={key.last_used_at} />],
                    ]}
                  />
                </Row>
              ))}
            </Rows>
            {more && <More onMore={reading.showMore} busy={false} />}
          </>
        )}
      </Shown>
      {making !== undefined && (
        <FormDialog
          title="New key"
          action="Make the key"
          not={not}
          start={{ operate: 'true' }}
          inputs={[
            { name: 'name', label: 'Name', required: true, hint: 'Of a person, a program, an adapter: what it causes has this name.' },
            ...RIGHTS.map((right) => ({ name: right, label: `May ${right}`, kind: 'flag' as const, hint: MEANS[right] })),
            { name: 'cities', label: 'Only these cities, one a line', kind: 'lines', hint: 'Empty: all.' },
            {
              name: 'days',
              label: 'Is good for',
              choices: [
                ['', 'ever'],
                ['1', 'a day'],
                ['7', 'a week'],
                ['30', '30 days'],
                ['90', '90 days'],
                ['365', 'a year'],
              ],
            },
          ]}
          onClose={() => show({})}
          onSave={async (values) => {
            const cities = linesOf(values.cities);
            const rights = RIGHTS.filter((right) => values[right] === 'true');
            const days = Number(values.days ?? '');
            // Without a key of its own the wish cannot be repeated: what is answered is the secret, and that is stored nowhere.
            const answer = await post<Made>('/v0/keys', {
              name: values.name?.trim(),
              ...(rights.length === 0 ? { scope: 'read' } : { rights }),
              ...(cities.length === 0 ? {} : { cities }),
              ...(days > 0 ? { expires_at: new Date(serviceClock.now() + days * 86_400_000).toISOString() } : {}),
            });
            setMade(answer);
            reading.again();
          }}
        />
      )}
      {rotated !== undefined && (
        <FormDialog
          title={`Give ${rotated.name} a new secret`}
          action="Rotate"
          not={not}
          start={{ grace: '3600' }}
          inputs={[{ name: 'grace', label: 'The old secret', choices: GRACE }]}
          onClose={() => show({})}
          onSave={async ({ grace = '0' }) => {
            const answer = await post<Schemas['ApiKeyRotatedResponse']>(`/v0/keys/${part(rotated.id)}/rotate`, {
              grace_seconds: Number(grace),
            });
            // Before anything is asked with the old one, which may be refused: the page would ask for a key, over the only copy of this one.
            if (rotated.id === caller?.id) renewKey(answer.key);
            setMade(answer);
            reading.again();
          }}
        />
      )}
      {made !== undefined && making === undefined && rotate === undefined && <Once made={made} onClose={() => setMade(undefined)} />}
      {leaving !== undefined && (
        <Sure
          title={`Revoke ${leaving.name}?`}
          word={leaving.name}
          action="Revoke the key"
          onClose={() => setLeaving(undefined)}
          onYes={() =>
            void act.run(`revoke ${leaving.id}`, async () => {
              await request('DELETE', `/v0/keys/${part(leaving.id)}`, {});
              reading.again();
              return `${leaving.name} is revoked: what was open with it has ended`;
            })
          }
        >
          Whoever has it is refused from now on, and streams that are open with it end. It cannot be taken back.
        </Sure>
      )}
    </Frame>
  );
}

function Expiry({ at }: { at: string | null }): ReactNode {
  if (at === null) return <State tone="good">does not expire</State>;
  const over = new Date(at).getTime() < serviceClock.now();
  return <State tone={over ? 'bad' : 'good'}>{over ? 'has expired' : `until ${new Date(at).toLocaleString()}`}</State>;
}

function Once({ made, onClose }: { made: Made; onClose: () => void }): ReactNode {
  return (
    <Modal title={`The key of ${made.name}`} kept onClose={onClose}>
      <p className="text-sm text-muted">
        It is shown once, here, and stored nowhere: copy it now, and give it by a way that nobody reads along.
      </p>
      <code data-secret tabIndex={0} className="words rounded-md border border-line bg-ground px-2.5 py-2 font-mono text-[13px]">
        {made.key}
      </code>
      <div className="flex justify-end gap-2">
        <Copy text={made.key} label="Copy the key" />
        <Button onClick={onClose}>I have it</Button>
      </div>
    </Modal>
  );
}
