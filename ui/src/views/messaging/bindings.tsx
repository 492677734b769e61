import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useRef, useState, type ReactNode } from 'react';
import { get, inCity, post } from '../../api/client.js';
import { useForbidden } from '../../api/info.js';
import * as needs from '../../api/needs.gen.js';
import type { Schemas } from '../../api/types.js';
import { useKeys } from '../../lib/keys.js';
import { visible } from '../../lib/text.js';
import { Age, Button, Confirm, Empty, State } from '../../parts/basics.js';
import { Told, useAct } from '../admin/act.js';
import { FormDialog } from '../admin/forms.js';
import { More, Row, Rows, Section, Shown } from '../admin/frame.js';
import { usePages } from '../admin/pages.js';
import { useRead } from '../admin/read.js';
import { addressOf, INPUTS, referenceFrom, titleOf } from './reference.js';

type Binding = Schemas['SessionBindingRecord'];
type Delivery = Schemas['ExtmsgDelivery'];

const whoOf = ({ AgentName, SessionName, SessionID }: Binding): string =>
  AgentName !== '' ? `agent ${AgentName}` : `session ${SessionName === '' ? SessionID : SessionName}`;

/** Who answers in which conversation. */
export function Bindings({ city }: { city: string }): ReactNode {
  const { new: adding, who } = useSearch({ from: '/c/$city/messaging' });
  const navigate = useNavigate({ from: '/c/$city/messaging' });
  // The service knows bindings by who has them.
  const names = useRead(`names ${city}`, async (signal) => {
    const [sessions, agents] = await Promise.all([
      get<{ items: Schemas['SessionResponse'][] | null }>(inCity(city, 'sessions'), { query: { limit: 500 }, signal }),
      get<{ items: Schemas['AgentResponse'][] | null }>(inCity(city, 'agents'), { query: { limit: 500 }, signal }),
    ]);
    return [
      ...(agents.items ?? []).map(({ name }) => [name, `agent ${name}`] as const),
      ...(sessions.items ?? []).map(({ id, title, alias }) => [id, `session ${id} ${title ?? alias ?? ''}`.trim()] as const),
    ];
  });
  const act = useAct();
  const not = useForbidden(needs.bindExtmsgConversation, needs.unbindExtmsgConversation);
  const [leaving, setLeaving] = useState<Binding>();
  /** Who was bound last: what is shown next. */
  const bound = useRef(who);
  const show = (on: boolean): void => {
    const next = on ? who : (bound.current ?? who);
    void navigate({ search: { ...(next === undefined ? {} : { who: next }), ...(on ? { new: '1' } : {}) }, replace: true });
  };
  useKeys('Bindings', not === undefined ? [{ keys: 'c', label: 'bind a conversation', run: () => show(true) }] : []);
  const bind = (
    conversation: Schemas['ConversationRef'],
    who: { agent_name: string } | { session_id: string },
    replace: boolean,
  ): Promise<unknown> => post(inCity(city, 'extmsg/bind'), { conversation, ...who, ...(replace ? { replace: true } : {}) });
  return (
    <Section
      title="Who answers where"
      actions={
        <Button look="primary" hotkey="c" not={not} onClick={() => show(true)}>
          Bind a conversation
        </Button>
      }
    >
      <Told acting={act} />
      <Shown of={names}>
        {(known) => (
          <select
            aria-label="Who answers"
            value={who ?? ''}
            onChange={(event) => void navigate({ search: event.target.value === '' ? {} : { who: event.target.value }, replace: true })}
            className="field max-w-96"
          >
            <option value="">Conversations of late</option>
            {who !== undefined && !known.some(([id]) => id === who) && <option value={who}>{visible(who)}</option>}
            {known.map(([id, label]) => (
              <option key={id} value={id}>
                {visible(label)}
              </option>
            ))}
          </select>
        )}
      </Shown>
      {who === undefined ? <Lately city={city} /> : <Bound city={city} who={who} not={not} onUnbind={setLeaving} />}
      {adding !== undefined && (
        <FormDialog
          title="Bind a conversation"
          action="Bind it"
          not={not}
          start={{ kind: 'room', who: 'agent' }}
          inputs={[
            ...INPUTS,
            {
              name: 'who',
              label: 'Who answers',
              choices: [
                ['agent', 'an agent'],
                ['session', 'one session'],
              ],
            },
            { name: 'name', label: 'Its name, or the id of the session', required: true },
            { name: 'replace', label: 'Take it from whoever has it', kind: 'flag' },
          ]}
          onClose={() => show(false)}
          onSave={async (values) => {
            const name = values.name?.trim() ?? '';
            await bind(
              referenceFrom(city, values),
              values.who === 'session' ? { session_id: name } : { agent_name: name },
              values.replace === 'true',
            );
            bound.current = name;
          }}
        />
      )}
      {leaving !== undefined && (
        <Confirm
          title="Unbind this conversation?"
          action="Unbind"
          onClose={() => setLeaving(undefined)}
          onYes={() =>
            void act.run(`unbind ${leaving.ID}`, async () => {
              const who = leaving.AgentName !== '' ? { agent_name: leaving.AgentName } : { session_id: leaving.SessionID };
              await post(inCity(city, 'extmsg/unbind'), { conversation: leaving.Conversation, ...who });
              return { text: `Nobody answers in ${titleOf(leaving.Conversation)}`, undo: () => bind(leaving.Conversation, who, false) };
            })
          }
        >
          {whoOf(leaving)} is told no more what people write in {titleOf(leaving.Conversation)}.
        </Confirm>
      )}
    </Section>
  );
}

interface BoundProps {
  readonly city: string;
  readonly who: string;
  readonly not: string | undefined;
  readonly onUnbind: (binding: Binding) => void;
}

/** All that one session, or one agent, answers. */
function Bound({ city, who, not, onUnbind }: BoundProps): ReactNode {
  const reading = usePages<Binding>(inCity(city, 'extmsg/bindings'), { session_id: who }, { city, on: /^extmsg\.|^session\.closed/ });
  return (
    <Shown of={reading}>
      {({ items, more }) => (
        <>
          {items.length === 0 && (
            <Empty title="No conversation is bound to it">
              <p>People write in a chat, an adapter hands it over, and a session or an agent that is bound to that chat answers.</p>
            </Empty>
          )}
          <Rows label="Bindings">
            {items.map((binding) => (
              <Row key={binding.ID} name={binding.ID}>
                <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5">
                  <To city={city} conversation={binding.Conversation} />
                  <span className="words text-sm">{visible(whoOf(binding))}</span>
                  <State tone={binding.Status === 'active' ? 'good' : 'quiet'}>{binding.Status}</State>
                  <span className="text-xs text-muted">
                    <Age at={binding.BoundAt} />
                  </span>
                  {binding.Status === 'active' && (
                    <Button look="bad" not={not} onClick={() => onUnbind(binding)}>
                      Unbind
                    </Button>
                  )}
                </div>
              </Row>
            ))}
          </Rows>
          {more && <More onMore={reading.showMore} busy={false} />}
        </>
      )}
    </Shown>
  );
}

const LATELY = 200;

/** In which conversations something was said of late, by what was delivered. */
function Lately({ city }: { city: string }): ReactNode {
  const reading = usePages<Delivery>(inCity(city, 'extmsg/deliveries'), { limit: LATELY }, { city, on: /^extmsg\./ });
  return (
    <Shown of={reading}>
      {({ items }) => {
        const found = new Map<string, Delivery>();
        for (const delivery of items) if (!found.has(titleOf(delivery.conversation))) found.set(titleOf(delivery.conversation), delivery);
        return (
          <>
            {found.size === 0 && (
              <Empty title="Nothing was said outside yet">
                <p>People write in a chat, an adapter hands it over, and a session or an agent that is bound to that chat answers.</p>
              </Empty>
            )}
            <Rows label="Conversations of late">
              {[...found].map(([title, { conversation, session, created_at }]) => (
                <Row key={title} name={title}>
                  <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5">
                    <To city={city} conversation={conversation} />
                    <Link to="/c/$city/messaging" params={{ city }} search={{ who: session }} className="words text-sm hover:underline">
                      {visible(session)}
                    </Link>
                    <span className="text-xs text-muted">
                      <Age at={created_at} />
                    </span>
                  </div>
                </Row>
              ))}
            </Rows>
          </>
        );
      }}
    </Shown>
  );
}

const To = ({ city, conversation }: { city: string; conversation: Schemas['ConversationRef'] }): ReactNode => (
  <Link
    data-open
    to="/c/$city/messaging"
    params={{ city }}
    search={{ tab: 'conversation', ...addressOf(city, conversation) }}
    className="words min-w-0 flex-1 basis-52 font-semibold hover:underline"
  >
    {visible(titleOf(conversation))}
  </Link>
);
