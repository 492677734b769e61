import { useRef, useSyncExternalStore, type ReactNode } from 'react';
import { get, inCity, part, post } from '../api/client.js';
import { useForbidden, useSigning } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { answeredOf, isOfThread, readThread, whyNoAnswer, withKnown } from '../lib/thread.js';
import { outbox } from '../live/outbox.js';
import { useCityRead } from '../live/use-read.js';
import { useActing } from './acting.js';
import { Age, Button, Problem, State } from './basics.js';
import { Icon } from './icons.js';
import { Loading } from './page.js';
import { Words } from './words.js';

type Letter = Schemas['Message'];

interface Props {
  readonly city: string;
  /** A message of it. */
  readonly id: string;
  /** Names of agents that are known. */
  readonly agents: readonly string[];
  /** What the list has of it: an archived message is in no thread any more, and one of long ago is left out of a long one. */
  readonly known: Letter | undefined;
  /** The list is of archived messages: nobody can answer them. */
  readonly archived: boolean;
  readonly onClose: () => void;
  readonly onArchive: (letter: Letter) => void;
  readonly onMark: (letter: Letter, read: boolean) => void;
}

/** Everything that was said about one thing, the oldest first, and the answer. */
export function MailThread({ city, id, agents, known, archived, onClose, onArchive, onMark }: Props): ReactNode {
  const thread = useRef<string>(undefined);
  const {
    data: read,
    error,
    again,
  } = useCityRead(
    city,
    `thread ${id}`,
    async (signal) => {
      const found = await readThread((cursor) =>
        get<Schemas['MailListBody']>(inCity(city, `mail/thread/${part(id)}`), { query: { limit: 500, cursor }, signal }),
      );
      thread.current = found.letters[0]?.thread_id;
      return found;
    },
    (event) => isOfThread(event, thread.current),
  );
  // Who opens another thread, or signs in again, finds what he has begun to write here.
  const draft = `svc.reply.${city}/${id}`;
  const { text: body } = useSyncExternalStore(outbox.subscribe, () => outbox.of(draft));
  const { failed, busy, act } = useActing(again);
  const box = useRef<HTMLTextAreaElement>(null);
  const not = useForbidden(needs.replyMail, needs.markMailRead, needs.markMailUnread, needs.archiveMail);
  const signing = useSigning();
  const me = signing.kind === 'in' ? signing.info.caller.name : undefined;
  const inBox = (one: Letter): boolean => read?.letters.some((other) => other.id === one.id) === true;
  const data = read === undefined ? undefined : withKnown(read, known);
  const letters = data?.letters ?? [];
  const shown = letters.find((one) => one.id === id) ?? letters.at(-1);
  const open = read === undefined ? undefined : withKnown(read, archived ? undefined : known);
  const letter = open && answeredOf(open, id, me);
  const from = letter?.from ?? 'human';
  const mute = letters.length > 0 && open !== undefined && letter === undefined;
  // What was begun while it could be answered stays to be copied.
  const offered = !mute || body !== '';
  useKeys('The thread', [{ keys: 'r', label: 'reply', run: () => box.current?.focus() }]);
  const reply = (): void =>
    act(
      () => {
        const path = inCity(city, `mail/${part(letter?.id ?? id)}/reply`);
        return outbox.deliver(draft, path, (idempotencyKey, text) => post(path, { body: text }, { idempotencyKey }));
      },
      again,
      `reply ${id}`,
    );
  return (
    <div className="flex min-h-full flex-col" data-thread={id}>
      <header className="flex items-start gap-3 border-b border-line p-4">
        <h2 className="words min-w-0 flex-1 text-base font-semibold">{shown === undefined ? id : visible(shown.subject)}</h2>
        <button type="button" aria-label="Close the thread" onClick={onClose} className="rounded-md p-2 text-muted hover:bg-raised">
          <Icon name="close" />
        </button>
      </header>
      {(failed !== undefined || error !== undefined) && (
        <div className="p-4">
          <Problem error={failed ?? error} onRetry={again} />
        </div>
      )}
      {data === undefined && error === undefined && (
        <div className="p-4">
          <Loading rows={3} />
        </div>
      )}
      {data !== undefined && data.left > 0 && (
        <p className="px-4 pt-4 text-sm text-muted">
          {data.left === 1 ? 'An older message is' : `${data.left} older messages are`} left out.
        </p>
      )}
      {data !== undefined && letters.length === 0 && <p className="p-4 text-sm text-muted">It is archived, or is no longer there.</p>}
      <ol className="flex flex-1 flex-col divide-y divide-line">
        {letters.map((one) => (
          <li key={one.id} data-letter={one.id} className="flex flex-col gap-2 p-4">
            <p className="flex flex-wrap items-baseline gap-x-2 text-sm">
              <span className="font-semibold">{visible(one.from)}</span>
              <span className="text-muted">
                to {visible(one.to)}
                {(one.cc ?? []).length > 0 && `, ${(one.cc ?? []).map(visible).join(', ')}`}
              </span>
              {!one.read && <State tone="accent">unread</State>}
              {one.priority !== undefined && one.priority < 2 && <State tone="warn">P{one.priority}</State>}
              <span className="ml-auto text-xs text-muted">
                <Age at={one.created_at} />
              </span>
            </p>
            <Words text={one.body} markdown />
            {inBox(one) && (
              <div className="flex gap-1.5">
                <Button look="quiet" not={not} onClick={() => onMark(one, !one.read)}>
                  {one.read ? 'Mark unread' : 'Mark read'}
                </Button>
                <Button look="quiet" not={not} onClick={() => onArchive(one)}>
                  Archive
                </Button>
              </div>
            )}
          </li>
        ))}
      </ol>
      {data?.more === true && <p className="p-4 text-sm text-warn">The thread goes on: later messages were not read.</p>}
      <form
        className="sticky bottom-0 flex flex-col gap-2 border-t border-line bg-panel p-4"
        onSubmit={(event) => {
          event.preventDefault();
          // Its keys send the form also while its button is off.
          if (body.trim() !== '' && not === undefined && letter !== undefined) reply();
        }}
      >
        {offered && (
          <>
            <textarea
              ref={box}
              aria-label="Reply"
              placeholder={letter === undefined ? 'Reply' : `Reply to ${visible(letter.from)}`}
              rows={3}
              value={body}
              onChange={(event) => outbox.write(draft, event.target.value)}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) event.currentTarget.form?.requestSubmit();
              }}
              className="field"
            />
            {/* Keys have one mailbox together, and a message does not say whether one has sent it. */}
            {from !== 'human' && body.trim() !== '' && !agents.includes(from) && (
              <p className="text-sm text-muted">If {visible(from)} is a key and no agent, the reply goes to people (human).</p>
            )}
          </>
        )}
        {mute && <p className="text-sm text-muted">{whyNoAnswer(open, id, me)}</p>}
        {offered && (
          <Button
            type="submit"
            look="primary"
            hotkey="mod+enter"
            className="self-end"
            not={not}
            disabled={busy || body.trim() === '' || letter === undefined}
          >
            Reply
          </Button>
        )}
      </form>
    </div>
  );
}
