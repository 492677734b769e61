import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactNode } from 'react';
import { get, inCity, newKey, part, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import type { Schemas, Session } from '../api/types.js';
import { useStreamState, wordsOf } from '../app/connection.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { onFrame } from '../live/frame.js';
import { hub } from '../live/hub.js';
import { sessionsOf } from '../live/sessions.js';
import { Transcript } from '../live/transcript.js';
import { useCityList } from '../live/use-list.js';
import { AskCard } from '../parts/ask-card.js';
import { Button, Confirm, Problem, State } from '../parts/basics.js';
import { Composer } from '../parts/composer.js';
import { Entry } from '../parts/entry.js';
import { Icon } from '../parts/icons.js';
import { nameOf, SessionState } from '../parts/session-state.js';

const END_PX = 80;
const OLDER = 200;

/** A session, read and continued while it streams. */
export function SessionView(): ReactNode {
  const { city, id } = useParams({ from: '/c/$city/sessions/$id' });
  const { thinking } = useSearch({ from: '/c/$city/sessions/$id' });
  return <Talk key={`${city}/${id}/${thinking ?? ''}`} city={city} id={id} thinking={thinking === '1'} />;
}

function Talk({ city, id, thinking }: { city: string; id: string; thinking: boolean }): ReactNode {
  const url = `${inCity(city, `session/${part(id)}/stream`)}?format=structured${thinking ? '&include_thinking=true' : ''}`;
  const [transcript] = useState(() => new Transcript(onFrame));
  const told = useSyncExternalStore(transcript.subscribe, transcript.snapshot);
  const stream = useStreamState(url);
  useEffect(() => hub.join(url, { frame: (frame) => transcript.apply(frame), live: (gap) => transcript.joined(gap) }), [url, transcript]);

  const session = useOneSession(city, id);
  const [error, setError] = useState<unknown>();
  const scroller = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const [unseen, setUnseen] = useState(0);
  const count = useRef(0);
  const toEnd = (): void => {
    following.current = true;
    setUnseen(0);
    const box = scroller.current;
    if (box !== null) box.scrollTop = box.scrollHeight;
  };
  useLayoutEffect(() => {
    const fresh = told.messages.length - count.current;
    count.current = told.messages.length;
    if (following.current) {
      const box = scroller.current;
      if (box !== null) box.scrollTop = box.scrollHeight;
    } else if (fresh > 0) setUnseen((before) => before + fresh);
  }, [told]);

  const older = async (): Promise<void> => {
    try {
      const page = await get<Schemas['SessionTranscriptGetResponse']>(inCity(city, `session/${part(id)}/transcript`), {
        query: { format: 'structured', before: told.before, limit: OLDER, ...(thinking ? { include_thinking: true } : {}) },
      });
      const { structured_messages = [], pagination } = page as {
        structured_messages?: Schemas['SessionStructuredMessage'][];
        pagination?: Schemas['PaginationInfo'];
      };
      const box = scroller.current;
      const height = box?.scrollHeight ?? 0;
      count.current += structured_messages.length;
      transcript.prepend(structured_messages, pagination?.has_older_messages === true ? pagination.truncated_before_message : undefined);
      transcript.flush();
      // Who reads stays where he is.
      requestAnimationFrame(() => {
        if (box !== null && box.scrollTop < END_PX) box.scrollTop += box.scrollHeight - height;
      });
    } catch (refused) {
      setError(refused);
    }
  };
  const questions = useMemo(
    () =>
      told.questions.map((question) => ({
        ...question,
        kind: question.kind,
        options: question.options ?? [],
        session_id: id,
        city,
      })),
    [told.questions, id, city],
  );
  useKeys('Session', [{ keys: 'G', label: 'to the end', run: toEnd }]);
  const missing = stream?.kind === 'missing';
  const connection = wordsOf(stream);
  return (
    <div className="flex h-full flex-col">
      <Header city={city} id={id} session={session} thinking={thinking} activity={told.activity} onError={setError} />
      <div className="relative min-h-0 flex-1">
        <div
          ref={scroller}
          role="log"
          aria-label="What was said"
          aria-live="off"
          tabIndex={0}
          data-transcript
          onScroll={(event) => {
            const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
            following.current = scrollHeight - scrollTop - clientHeight < END_PX;
            if (following.current) setUnseen(0);
          }}
          className="h-full overflow-y-auto px-4 py-4"
        >
          <div className="mx-auto flex max-w-3xl flex-col gap-4">
            {told.before !== undefined && (
              <Button className="self-center" onClick={() => void older()}>
                Show older
              </Button>
            )}
            {missing && <Problem error={new Error(stream.why)} />}
            {told.begun && told.messages.length === 0 && !missing && (
              <p className="py-10 text-center text-muted">Nothing was said yet. Write the first message below.</p>
            )}
            {told.messages.map((message) => (
              <Entry key={message.id} message={message} />
            ))}
            {told.activity === 'in-turn' && (
              <p role="status" className="text-sm">
                <State tone="accent">the agent works</State>
              </p>
            )}
          </div>
        </div>
        {unseen > 0 && (
          <Button look="primary" hotkey="G" onClick={toEnd} className="absolute bottom-3 left-1/2 -translate-x-1/2 shadow-lg">
            {unseen === 1 ? '1 new entry' : `${unseen} new entries`}
          </Button>
        )}
      </div>
      <div className="border-t border-line bg-panel px-4 py-3">
        <div className="mx-auto flex max-w-3xl flex-col gap-3">
          {stream !== undefined && !['live', 'connecting', 'missing'].includes(stream.kind) && (
            <p className="flex items-center gap-3">
              <State tone={connection.tone}>{connection.text}</State>
              {stream.kind === 'paused' && <Button onClick={() => hub.resume(url)}>Go on</Button>}
            </p>
          )}
          {questions.map((ask, i) => (
            <AskCard key={ask.request_id} ask={ask} focused={i === 0} bare />
          ))}
          {error !== undefined && <Problem error={error} />}
          {session?.state === 'closed' ? (
            <p className="text-sm text-muted">
              This session is closed{session.reason === undefined || session.reason === '' ? '' : `: ${visible(session.reason)}`}.
            </p>
          ) : (
            !missing && <Composer city={city} id={id} capabilities={session?.submission_capabilities} />
          )}
        </div>
      </div>
    </div>
  );
}

/** The session as the city's list would have it, kept as that is. */
function useOneSession(city: string, id: string): Session | undefined {
  const { snapshot } = useCityList(city, `one ${id}`, () => sessionsOf(city, 'all', id));
  return snapshot.rows[0];
}

interface HeaderProps {
  readonly city: string;
  readonly id: string;
  readonly session: Session | undefined;
  readonly thinking: boolean;
  readonly activity: string;
  readonly onError: (error: unknown) => void;
}

function Header({ city, id, session, thinking, activity, onError }: HeaderProps): ReactNode {
  const [closing, setClosing] = useState(false);
  const not = useForbidden('operate');
  const navigate = useNavigate();
  const act = (action: string): void => {
    onError(undefined);
    post(inCity(city, `session/${part(id)}/${action}`), undefined, { idempotencyKey: newKey() }).catch(onError);
  };
  const closed = session?.state === 'closed';
  const busy = activity === 'in-turn';
  useKeys('This session', [
    { keys: 'ctrl+.', label: 'stop the turn', run: () => act('stop'), inText: true },
    { keys: 'w', label: 'wake', run: () => act('wake') },
    { keys: 'u', label: 'back to the sessions', run: () => void navigate({ to: '/c/$city/sessions', params: { city } }) },
  ]);
  return (
    <header className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line bg-panel px-4 py-2.5">
      <Link to="/c/$city/sessions" params={{ city }} aria-label="All sessions" className="rounded-md p-1.5 text-muted hover:bg-raised">
        <Icon name="back" />
      </Link>
      <div className="min-w-0 flex-1 basis-40">
        <h1 className="truncate font-semibold">{session === undefined ? id : visible(nameOf(session))}</h1>
        <p className="truncate text-xs text-muted">
          {id}
          {session !== undefined && ` · ${session.template}${session.template === session.provider ? '' : ` · ${session.provider}`}`}
          {session?.model !== undefined && session.model !== '' && ` · ${session.model}`}
          {session?.context_pct !== undefined && ` · context ${session.context_pct}%`}
        </p>
      </div>
      {session !== undefined && <SessionState session={{ ...session, activity: activity === '' ? (session.activity ?? '') : activity }} />}
      <div className="flex flex-wrap gap-1.5">
        <Button
          look="quiet"
          aria-pressed={thinking}
          onClick={() =>
            void navigate({ to: '/c/$city/sessions/$id', params: { city, id }, search: thinking ? {} : { thinking: '1' }, replace: true })
          }
        >
          {thinking ? 'Hide thoughts' : 'Thoughts'}
        </Button>
        {busy && (
          <Button hotkey="ctrl+." not={not} onClick={() => act('stop')}>
            Stop turn
          </Button>
        )}
        {session !== undefined && !closed && !session.running && (
          <Button hotkey="w" not={not} onClick={() => act('wake')}>
            Wake
          </Button>
        )}
        {!closed && session !== undefined && (
          <Button look="bad" not={not} onClick={() => setClosing(true)}>
            Close
          </Button>
        )}
      </div>
      {closing && (
        <Confirm title="Close this session?" action={`Close ${id}`} onYes={() => act('close')} onClose={() => setClosing(false)}>
          Its process ends and it takes no more messages. What was said stays readable.
        </Confirm>
      )}
    </header>
  );
}
