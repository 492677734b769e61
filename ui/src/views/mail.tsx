import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useRef, useState, type ReactNode } from 'react';
import { get, inCity, part, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { useAgentNames } from '../live/agents.js';
import { done } from '../live/undo.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { useActing } from '../parts/acting.js';
import { oldSince } from '../parts/as-of.js';
import { Age, Button, Confirm, Modal } from '../parts/basics.js';
import { Icon } from '../parts/icons.js';
import { useListKeys } from '../parts/list-keys.js';
import { MailForm, MailSettingsForm } from '../parts/mail-form.js';
import { MailThread } from '../parts/mail-thread.js';
import { countOf, List, ListRow, Which } from '../parts/list-view.js';
import { CityPage } from '../parts/page.js';

const MOST = 200;
const STATES = [
  ['unread', 'Unread'],
  ['all', 'Read and unread'],
  ['archived', 'Archived'],
] as const;
type Letter = Schemas['Message'];

/** Mailboxes: the one of people, those of agents, and all of them together. */
export function Mail(): ReactNode {
  const { city } = useParams({ from: '/c/$city/mail' });
  const { agent = 'human', status = 'unread', text, thread, new: writing } = useSearch({ from: '/c/$city/mail' });
  const navigate = useNavigate({ from: '/c/$city/mail' });
  const names = useAgentNames(city);
  const query = { status, text, limit: MOST, ...(agent === 'all' ? {} : { agent }) };
  const { data, error, asOf, again } = useCityRead(
    city,
    `mail ${JSON.stringify(query)}`,
    (signal) => get<Schemas['MailListBody']>(inCity(city, 'mail'), { query, signal }),
    kinds('mail.'),
  );
  const rows = data?.items ?? [];
  const { failed, act } = useActing(again);
  const [archiving, setArchiving] = useState<Letter>();
  const [settings, setSettings] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  const others = [...new Set([...names, ...(agent === 'human' || agent === 'all' ? [] : [agent])])];
  const boxes = [['human', 'For people'], ['all', 'All mailboxes'], ...others.map((name) => [name, name] as const)] as const;
  const not = useForbidden(needs.sendMail, needs.markMailRead, needs.markMailUnread, needs.archiveMail);
  const set = (next: Partial<Record<'agent' | 'status' | 'text' | 'thread' | 'new', string | undefined>>, replace = true): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace });
  const mark = (letter: Letter, read: boolean): void =>
    act(() => post(inCity(city, `mail/${part(letter.id)}/${read ? 'read' : 'mark-unread'}`)), again);
  const open = (id: string | undefined, replace = false): void => {
    set({ thread: id }, replace);
    const letter = rows.find((one) => one.id === id);
    // Who opens what is for people has read it; what is for agents they read themselves.
    if (letter !== undefined && letter.to === 'human' && !letter.read && not === undefined) mark(letter, true);
  };
  const at = useListKeys(
    'Mail',
    rows.map(({ id }) => id),
    thread,
    open,
  );
  const current = rows.find(({ id }) => id === at);
  useKeys('Mail of the city', [
    ...(not === undefined ? [{ keys: 'c', label: 'write', run: () => set({ new: '1' }) }] : []),
    { keys: '/', label: 'search', run: () => search.current?.focus() },
    ...(current === undefined || not !== undefined || status === 'archived'
      ? []
      : [
          { keys: 'e', label: 'archive', run: () => setArchiving(current) },
          { keys: 'U', label: current.read ? 'mark unread' : 'mark read', run: () => mark(current, !current.read) },
        ]),
  ]);
  const filtered = text !== undefined || status !== 'unread' || agent !== 'human';
  return (
    <CityPage
      city={city}
      title="Mail"
      count={data === undefined ? undefined : countOf(rows.length, data.total, data.total_is_estimate)}
      error={failed ?? error}
      onRetry={again}
      asOf={oldSince({ error, asOf })}
      pane={
        thread === undefined ? undefined : (
          <MailThread
            key={thread}
            city={city}
            id={thread}
            agents={names}
            known={rows.find(({ id }) => id === thread)}
            archived={status === 'archived'}
            onClose={() => set({ thread: undefined })}
            onArchive={setArchiving}
            onMark={mark}
          />
        )
      }
      paneLabel="The thread"
      paneRow={thread}
      tools={
        <>
          <Which
            label="Mailbox"
            value={agent}
            options={boxes}
            onChange={(next) => set({ agent: next === 'human' ? undefined : next })}
            className="w-auto max-w-44"
          />
          <Which label="Which" value={status} options={STATES} onChange={(next) => set({ status: next === 'unread' ? undefined : next })} />
          <input
            ref={search}
            type="search"
            aria-label="Search mail"
            placeholder="Search"
            defaultValue={text ?? ''}
            onKeyDown={(event) => {
              if (event.key === 'Enter') set({ text: event.currentTarget.value === '' ? undefined : event.currentTarget.value });
              if (event.key === 'Escape') event.currentTarget.blur();
            }}
            className="field w-28"
          />
          <Button look="primary" hotkey="c" not={not} onClick={() => set({ new: '1' })}>
            Write
          </Button>
          <Button look="quiet" aria-label="Mail settings" title="Mail settings" onClick={() => setSettings(true)}>
            <Icon name="settings" size={16} />
          </Button>
        </>
      }
    >
      <List
        label="Mail"
        rows={data === undefined ? undefined : rows}
        failed={error !== undefined}
        none={[
          'No unread mail for people',
          <p>Agents write here to people, and to each other. Write to one: it is told when it has time.</p>,
        ]}
        filtered={
          filtered ? { title: 'No mail fits this', clear: 'Clear filters', onClear: () => void navigate({ search: {} }) } : undefined
        }
        row={(letter) => (
          <ListRow key={letter.id} kind="data-mail" id={letter.id} here={letter.id === at}>
            <button
              type="button"
              onClick={() => open(letter.id)}
              className="grid w-full grid-cols-[0.75rem_1fr_auto] items-center gap-x-3 px-4 py-2 text-left hover:bg-raised @2xl:grid-cols-[0.75rem_10rem_1fr_auto]"
            >
              <span className="text-[0.6em] text-accent">
                {letter.read ? '' : '●'}
                <span className="sr-only">{letter.read ? 'read' : 'unread'}</span>
              </span>
              <span className={`col-span-1 truncate text-sm ${letter.read ? 'text-muted' : 'font-semibold'}`}>
                {visible(letter.from)}
                {(agent === 'all' || agent !== letter.to) && <span className="font-normal text-muted"> → {visible(letter.to)}</span>}
              </span>
              <span className="col-span-2 col-start-2 row-start-2 min-w-0 truncate text-sm @2xl:col-span-1 @2xl:col-start-3 @2xl:row-start-1">
                <span className={letter.read ? '' : 'font-medium'}>{visible(letter.subject)}</span>
                <span className="text-muted"> {visible(letter.body.slice(0, 120))}</span>
              </span>
              <span className="col-start-3 row-start-1 text-xs text-muted @2xl:col-start-4">
                <Age at={letter.created_at} />
              </span>
            </button>
          </ListRow>
        )}
      />
      {writing !== undefined && (
        <Modal title={`Write in ${city}`} onClose={() => set({ new: undefined })} wide>
          <MailForm
            city={city}
            to={agent === 'human' || agent === 'all' ? '' : agent}
            onCancel={() => set({ new: undefined })}
            onDone={(who) => {
              set({ new: undefined });
              done(`Sent to ${who}`);
              again();
            }}
          />
        </Modal>
      )}
      {settings && (
        <Modal title="Mail of this city" onClose={() => setSettings(false)}>
          <MailSettingsForm city={city} onDone={() => setSettings(false)} />
        </Modal>
      )}
      {archiving !== undefined && (
        <Confirm
          title="Archive this message?"
          action={`Archive ${archiving.id}`}
          onClose={() => setArchiving(undefined)}
          onYes={() => act(() => post(inCity(city, `mail/${part(archiving.id)}/archive`)), again)}
        >
          “{visible(archiving.subject)}” leaves the mailbox of {archiving.to} for good. It stays among the archived ones.
        </Confirm>
      )}
    </CityPage>
  );
}
