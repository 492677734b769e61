import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { get, inCity, newKey, post, Refusal, request } from '../../api/client.js';
import { useForbidden } from '../../api/info.js';
import * as needs from '../../api/needs.gen.js';
import type { Schemas } from '../../api/types.js';
import { visible } from '../../lib/text.js';
import { Age, Button, Empty, Field } from '../../parts/basics.js';
import { Told, useAct } from '../admin/act.js';
import { FormDialog } from '../admin/forms.js';
import { Section, Shown } from '../admin/frame.js';
import { useRead } from '../admin/read.js';
import { KINDS, queryOf, referenceOf, titleOf, type Reference } from './reference.js';

type Line = Schemas['ConversationTranscriptRecord'];
type Group = Schemas['ConversationGroupRecord'];

/** One conversation elsewhere: what was said in it, and who is in it. */
export function Conversation({ city }: { city: string }): ReactNode {
  const search = useSearch({ from: '/c/$city/messaging' });
  const navigate = useNavigate({ from: '/c/$city/messaging' });
  const reference = referenceOf(city, search);
  const [typed, setTyped] = useState({
    provider: search.provider ?? '',
    account: search.account ?? '',
    conversation: search.conversation ?? '',
    kind: search.kind ?? 'room',
    parent: search.parent ?? '',
  });
  const input = (name: 'provider' | 'account' | 'conversation' | 'parent', label: string, required = false): ReactNode => (
    <Field label={label}>
      {(id) => (
        <input
          id={id}
          required={required}
          value={typed[name]}
          onChange={(event) => setTyped({ ...typed, [name]: event.target.value })}
          className="field"
        />
      )}
    </Field>
  );
  return (
    <>
      <form
        className="grid grid-cols-2 items-end gap-3 md:grid-cols-6"
        onSubmit={(event) => {
          event.preventDefault();
          void navigate({
            search: {
              tab: 'conversation',
              ...Object.fromEntries(
                Object.entries(typed).filter(([name, value]) => value.trim() !== '' && !(name === 'kind' && value === 'room')),
              ),
            },
          });
        }}
      >
        {input('provider', 'Provider', true)}
        {input('account', 'Account')}
        {input('conversation', 'Conversation', true)}
        <Field label="Kind">
          {(id) => (
            <select id={id} value={typed.kind} onChange={(event) => setTyped({ ...typed, kind: event.target.value })} className="field">
              {KINDS.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
        {input('parent', 'Room of the thread')}
        <Button type="submit" look="primary">
          Show it
        </Button>
      </form>
      {reference === undefined ? (
        <Empty title="Which conversation?">
          <p>Say its provider and its id there, or come from a binding or a delivery.</p>
        </Empty>
      ) : (
        <>
          <Said key={titleOf(reference)} city={city} reference={reference} />
          <Several key={`members ${titleOf(reference)}`} city={city} reference={reference} />
        </>
      )}
    </>
  );
}

function Said({ city, reference }: { city: string; reference: Reference }): ReactNode {
  const [limit, setLimit] = useState(100);
  const reading = useRead(
    `said ${city} ${titleOf(reference)} ${limit}`,
    async (signal) => {
      const { items, total } = await get<{ items: Line[] | null; total: number }>(inCity(city, 'extmsg/transcript'), {
        query: { ...queryOf(reference), order: 'desc', limit },
        signal,
      });
      return { lines: [...(items ?? [])].reverse(), total };
    },
    { city, on: /^extmsg\./ },
  );
  const act = useAct();
  const not = useForbidden(needs.publishExtmsg);
  const [text, setText] = useState('');
  const [who, setWho] = useState('');
  const publish = async (key: string): Promise<string> => {
    const { Receipt, DeliveryID } = await post<Schemas['OutboundResult']>(inCity(city, 'extmsg/outbound'), {
      conversation: reference,
      session_id: who.trim(),
      text,
      idempotency_key: key,
    });
    reading.again();
    if (Receipt.Delivered) return 'Published';
    return `Not published yet${Receipt.Error === undefined ? '' : `: ${Receipt.Error}`} (${DeliveryID ?? ''})`;
  };
  const send = (): void => void act.run('send', publish, [text, who]).then((done) => done && setText((now) => (now === text ? '' : now)));
  return (
    <Section title={titleOf(reference)}>
      <Shown of={reading}>
        {({ lines, total }) => (
          <>
            {lines.length < total && (
              <Button onClick={() => setLimit(Math.min(1000, limit + 200))}>Show older: {total - lines.length}</Button>
            )}
            {lines.length === 0 && <Empty title="Nothing was said in it" />}
            <ol aria-label="What was said" className="flex flex-col gap-2">
              {lines.map((line) => (
                <li
                  key={line.ID}
                  data-row={line.ID}
                  tabIndex={-1}
                  className={`flex flex-col ${line.Kind === 'outbound' ? 'items-end' : 'items-start'}`}
                >
                  <p className="text-xs text-muted">
                    {visible(line.Actor.display_name === '' ? line.Actor.id : line.Actor.display_name)}
                    {line.SourceSessionID === '' ? '' : ` · ${line.SourceSessionID}`} · <Age at={line.CreatedAt} />
                    {line.Provenance === 'hydrated' && ' · brought in later'}
                  </p>
                  <p
                    className={`words max-w-[85%] rounded-2xl px-3.5 py-2 ${line.Kind === 'outbound' ? 'bg-tint' : 'border border-line bg-panel'}`}
                  >
                    {visible(line.Text)}
                  </p>
                  {(line.Attachments ?? []).map((file, i) => (
                    <p key={i} className="words text-xs text-muted">
                      File: {visible(file.url)} {file.mime_type === undefined ? '' : `(${visible(file.mime_type)})`}
                    </p>
                  ))}
                </li>
              ))}
            </ol>
          </>
        )}
      </Shown>
      <Told acting={act} />
      <form
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <input
          aria-label="Session that says it"
          required
          placeholder="Session"
          value={who}
          onChange={(event) => setWho(event.target.value)}
          className="field max-w-40"
        />
        <input
          aria-label="What is said in its name"
          required
          placeholder="Say something in its name"
          value={text}
          onChange={(event) => setText(event.target.value)}
          className="field min-w-52 flex-1"
        />
        <Button type="submit" not={not} disabled={act.busy !== undefined}>
          Publish
        </Button>
      </form>
    </Section>
  );
}

/** Asked for when somebody wants to know: most conversations are no group. */
function Several({ city, reference }: { city: string; reference: Reference }): ReactNode {
  const [open, setOpen] = useState(false);
  if (open) return <Members city={city} reference={reference} />;
  return (
    <Button className="self-start" onClick={() => setOpen(true)}>
      Several sessions in it …
    </Button>
  );
}

/** Several sessions in one room, each with a handle. */
function Members({ city, reference }: { city: string; reference: Reference }): ReactNode {
  const reading = useRead(
    `group ${city} ${titleOf(reference)}`,
    (signal) =>
      get<Group>(inCity(city, 'extmsg/groups'), { query: queryOf(reference), signal }).catch((error: unknown) => {
        if (error instanceof Refusal && error.status === 404) return null;
        throw error;
      }),
    { city, on: /^extmsg\./ },
  );
  const act = useAct();
  const not = useForbidden(needs.ensureExtmsgGroup, needs.addExtmsgParticipant, needs.removeExtmsgParticipant);
  const [adding, setAdding] = useState(false);
  const ensure = (): void =>
    void act.run('group', async () => {
      await post(inCity(city, 'extmsg/groups'), { root_conversation: reference }, { idempotencyKey: newKey() });
      reading.again();
      return 'It is a group now';
    });
  return (
    <Shown of={reading}>
      {(group) => (
        <Section
          title="Several sessions in it"
          actions={
            group === null ? (
              <Button not={not} onClick={ensure}>
                Make it a group
              </Button>
            ) : (
              <Button not={not} onClick={() => setAdding(true)}>
                Add a session
              </Button>
            )
          }
        >
          <Told acting={act} />
          {group === null ? (
            <p className="text-sm text-muted">It is no group: whoever is bound to it answers.</p>
          ) : (
            <ul className="divide-y divide-line rounded-xl border border-line bg-panel">
              {(group.Participants ?? []).length === 0 && <li className="px-4 py-2 text-sm text-muted">Nobody is in it yet.</li>}
              {(group.Participants ?? []).map((one) => (
                <li key={one.ID} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 text-sm">
                  <span className="words font-medium">@{visible(one.Handle)}</span>
                  <span className="words text-muted">{visible(one.SessionName === '' ? one.SessionID : one.SessionName)}</span>
                  {one.Handle === group.DefaultHandle && <span className="text-xs text-muted">answers when nobody is named</span>}
                  <Button
                    className="ml-auto"
                    look="bad"
                    not={not}
                    onClick={() =>
                      void act.run(`remove ${one.Handle}`, async () => {
                        await request('DELETE', inCity(city, 'extmsg/participants'), { body: { group_id: group.ID, handle: one.Handle } });
                        reading.again();
                        return {
                          text: `@${one.Handle} is out of it`,
                          undo: () =>
                            post(inCity(city, 'extmsg/participants'), {
                              group_id: group.ID,
                              handle: one.Handle,
                              session_id: one.SessionID,
                              public: one.Public,
                              metadata: one.Metadata,
                            }).then(reading.again),
                        };
                      })
                    }
                  >
                    Remove
                  </Button>
                </li>
              ))}
            </ul>
          )}
          {adding && group !== null && (
            <FormDialog
              title="Add a session to the conversation"
              action="Add it"
              not={not}
              inputs={[
                { name: 'handle', label: 'Handle', required: true, hint: 'By which people name it.' },
                { name: 'session', label: 'Session', required: true, hint: 'Its id, or the name of an agent that has one.' },
              ]}
              onClose={() => setAdding(false)}
              onSave={async ({ handle = '', session = '' }) => {
                await post(inCity(city, 'extmsg/participants'), { group_id: group.ID, handle: handle.trim(), session_id: session.trim() });
                reading.again();
              }}
            />
          )}
        </Section>
      )}
    </Shown>
  );
}
