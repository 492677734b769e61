import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactNode } from 'react';
import { get, inCity, newKey, part, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas, Session } from '../api/types.js';
import { useStreamState, wordsOf } from '../app/connection.js';
import { counted } from '../lib/counted.js';
import { useKeys } from '../lib/keys.js';
import { useMoves } from '../lib/moves.js';
import { idOf } from '../lib/mutes.js';
import { visible } from '../lib/text.js';
import { onFrame } from '../live/frame.js';
import { hub } from '../live/hub.js';
import { useOneSession } from '../live/sessions.js';
import { Transcript } from '../live/transcript.js';
import { streamOf } from '../live/use-list.js';
import { AskCard } from '../parts/ask-card.js';
import { Button, Confirm, Problem, State } from '../parts/basics.js';
import { CityPaused } from '../parts/city-paused.js';
import { Composer } from '../parts/composer.js';
import { copyEntry } from '../parts/copy.js';
import { FindBar, useEntryOfAddress, useTranscriptSearch } from '../parts/transcript-search.js';
import { Icon } from '../parts/icons.js';
import { Pane } from '../parts/pane.js';
import { Queue, useQueue } from '../parts/queue.js';
import { SessionActions } from '../parts/session-actions.js';
import { nameOf, SessionState } from '../parts/session-state.js';
import { SubAgent, useSubAgents } from '../parts/sub-agents.js';
import { TranscriptList, type TranscriptHandle } from '../parts/transcript-list.js';
import { loadMarkdown } from '../parts/words.js';

const OLDER = 200;
loadMarkdown();

/** A session, read and continued while it streams. */
export function SessionView(): ReactNode {
  const { city, id } = useParams({ from: '/c/$city/sessions/$id' });
  const { thinking } = useSearch({ from: '/c/$city/sessions/$id' });
  return <Talk key={`${city}/${id}/${thinking ?? ''}`} city={city} id={id} thinking={thinking === '1'} />;
}

interface TalkProps {
  readonly city: string;
  readonly id: string;
  readonly thinking: boolean;
}

function Talk({ city, id, thinking }: TalkProps): ReactNode {
  const { agent: sub, entry, find = '' } = useSearch({ from: '/c/$city/sessions/$id' });
  const navigate = useNavigate({ from: '/c/$city/sessions/$id' });
  const url = `${inCity(city, `session/${part(id)}/stream`)}?format=structured${thinking ? '&include_thinking=true' : ''}`;
  const [transcript] = useState(() => new Transcript(onFrame));
  const told = useSyncExternalStore(transcript.subscribe, transcript.snapshot);
  const stream = useStreamState(url);
  const followed = useStreamState(streamOf(city));
  useEffect(() => hub.join(url, { whole: true, frame: (frame) => transcript.apply(frame) }), [url, transcript]);

  const session = useOneSession(city, id);
  const [error, setError] = useState<unknown>();
  const list = useRef<TranscriptHandle>(null);
  const queue = useQueue(city, id);
  const agents = useSubAgents(city, id);
  const older = async (): Promise<void> => {
    const asked = told.before;
    const come = transcript.hold();
    try {
      const page = await get<Schemas['SessionTranscriptGetResponse']>(inCity(city, `session/${part(id)}/transcript`), {
        query: { format: 'structured', before: asked, limit: OLDER, ...(thinking ? { include_thinking: true } : {}) },
      });
      const { structured_messages = [], pagination } = page as {
        structured_messages?: Schemas['SessionStructuredMessage'][];
        pagination?: Schemas['PaginationInfo'];
      };
      transcript.prepend(
        asked,
        structured_messages,
        pagination?.has_older_messages === true ? pagination.truncated_before_message : undefined,
      );
    } catch (refused) {
      setError(refused);
    } finally {
      come();
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
  const { moves, list: foot } = useMoves(questions.map(idOf), 'bottom');
  const go = useCallback(
    (next: { readonly entry?: string | undefined; readonly find?: string | undefined }): void =>
      void navigate({ search: (before) => ({ ...before, ...next }), replace: true }),
    [navigate],
  );
  const search = useTranscriptSearch(told.messages, find, entry, (to) => go({ entry: to }));
  useEntryOfAddress(entry, told, (one) => list.current?.show(one) === true, older);
  useKeys('Session', [
    { keys: 'G', label: 'to the end', run: () => list.current?.toEnd() },
    { keys: 'Y', label: 'copy the text of the entry', run: () => copyEntry(told.messages.find((message) => message.id === entry)) },
  ]);
  const missing = stream?.kind === 'missing';
  const agent = agents.some(({ agent_id }) => agent_id === sub) ? sub : undefined;
  const showAgent = (next: string | undefined): void =>
    void navigate({ search: ({ agent: _, ...rest }) => (next === undefined ? rest : { ...rest, agent: next }), replace: true });
  return (
    <div className="flex h-full">
      <div className={`min-w-0 flex-1 flex-col ${agent === undefined ? 'flex' : 'hidden lg:flex'}`}>
        <Header
          city={city}
          id={id}
          session={session}
          thinking={thinking}
          activity={told.activity}
          asks={questions.length > 0}
          agents={agents.map(({ agent_id }) => agent_id)}
          onAgent={showAgent}
          onError={setError}
        />
        {followed?.kind === 'paused' && <CityPaused city={city} className="border-b border-line px-4 py-1.5" />}
        {missing && (
          <div className="p-4">
            <Problem error={new Error(stream.why)} />
          </div>
        )}
        {search.open && (
          <FindBar
            search={search}
            find={find}
            told={told}
            onFind={(words) => go({ find: words === '' ? undefined : words })}
            onOlder={older}
            onClose={() => {
              search.close();
              go({ find: undefined });
            }}
          />
        )}
        <TranscriptList
          messages={told.messages}
          older={told.before !== undefined}
          onOlder={older}
          onEnd={() => transcript.atEnd()}
          handle={list}
          here={entry}
          pattern={search.pattern}
        >
          {told.begun && told.messages.length === 0 && !missing && (
            <p className="py-10 text-center text-muted">Nothing was said yet. Write the first message below.</p>
          )}
        </TranscriptList>
        {/* What is asked may be longer than the room: it scrolls, and what is written below it stays where it is. */}
        <div className="flex max-h-[70%] min-h-0 flex-col overflow-y-auto border-t border-line bg-panel py-3">
          <div className={`${questions.length > 0 ? 'min-h-24' : 'min-h-0'} overflow-y-auto px-4`}>
            <div ref={foot} className="mx-auto flex max-w-3xl flex-col gap-3 pb-3 empty:hidden">
              {told.activity === 'in-turn' && questions.length === 0 && (
                <p role="status" className="text-sm">
                  <State tone="accent">the agent works</State>
                </p>
              )}
              {stream !== undefined && !['live', 'connecting', 'missing'].includes(stream.kind) && (
                <p className="flex items-center gap-3">
                  <State tone={wordsOf(stream).tone}>{wordsOf(stream).text}</State>
                  {stream.kind === 'paused' && <Button onClick={() => hub.resume(url)}>Go on</Button>}
                </p>
              )}
              <Queue city={city} id={id} queue={queue} />
              {questions.map((ask, i) => (
                <AskCard key={ask.request_id} ask={ask} focused={i === 0} moves={moves} bare />
              ))}
              {error !== undefined && <Problem error={error} />}
            </div>
          </div>
          <div className={`mx-auto w-full max-w-[50rem] shrink-0 px-4 ${questions.length > 0 ? 'border-t border-line pt-3' : ''}`}>
            {session?.state === 'closed' ? (
              <p className="text-sm text-muted">
                This session is closed{session.reason === undefined || session.reason === '' ? '' : `: ${visible(session.reason)}`}.
              </p>
            ) : (
              !missing && <Composer city={city} id={id} capabilities={session?.submission_capabilities} onAccepted={queue.again} />
            )}
          </div>
        </div>
      </div>
      {agent !== undefined && (
        <Pane label={`Sub-agent ${agent}`} narrow>
          <SubAgent city={city} session={id} agent={agent} onClose={() => showAgent(undefined)} />
        </Pane>
      )}
    </div>
  );
}

interface HeaderProps {
  readonly city: string;
  readonly id: string;
  readonly session: Session | undefined;
  readonly thinking: boolean;
  readonly activity: string;
  readonly asks: boolean;
  readonly agents: readonly string[];
  readonly onAgent: (agent: string) => void;
  readonly onError: (error: unknown) => void;
}

function Header({ city, id, session, thinking, activity, asks, agents, onAgent, onError }: HeaderProps): ReactNode {
  const [closing, setClosing] = useState(false);
  const [acting, setActing] = useState(false);
  const not = useForbidden(needs.stopSession, needs.wakeSession, needs.closeSession);
  const navigate = useNavigate();
  const act = (action: string): void => {
    onError(undefined);
    post(inCity(city, `session/${part(id)}/${action}`), undefined, { idempotencyKey: newKey() }).catch(onError);
  };
  const closed = session?.state === 'closed';
  // Until the stream has told it, and where that is missing, the list knows.
  const shown = activity === '' ? (session?.activity ?? '') : activity;
  const busy = shown === 'in-turn';
  const rests = session !== undefined && !closed && !session.running;
  useKeys('This session', [
    ...(busy && not === undefined ? [{ keys: 'ctrl+.', label: 'stop the turn', run: () => act('stop'), inText: true }] : []),
    ...(rests && not === undefined ? [{ keys: 'w', label: 'wake', run: () => act('wake') }] : []),
    { keys: '.', label: 'all that can be done', run: () => setActing(true) },
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
      {session !== undefined && <SessionState session={{ ...session, activity: shown }} asks={asks} />}
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
        {agents.length > 0 && (
          <select aria-label="Sub-agents" value="" onChange={(event) => onAgent(event.target.value)} className="field w-auto max-w-40">
            <option value="">{counted(agents.length, 'sub-agent')}</option>
            {agents.map((agent) => (
              <option key={agent} value={agent}>
                {agent}
              </option>
            ))}
          </select>
        )}
        {busy && (
          <Button hotkey="ctrl+." not={not} onClick={() => act('stop')}>
            Stop turn
          </Button>
        )}
        {rests && (
          <Button hotkey="w" not={not} onClick={() => act('wake')}>
            Wake
          </Button>
        )}
        {session !== undefined && (
          <Button hotkey="." onClick={() => setActing(true)}>
            More
          </Button>
        )}
        {!closed && session !== undefined && (
          <Button look="bad" not={not} onClick={() => setClosing(true)}>
            Close
          </Button>
        )}
      </div>
      {acting && session !== undefined && <SessionActions city={city} session={session} onClose={() => setActing(false)} />}
      {closing && (
        <Confirm title="Close this session?" action={`Close ${id}`} onYes={() => act('close')} onClose={() => setClosing(false)}>
          Its process ends and it takes no more messages. What was said stays readable.
        </Confirm>
      )}
    </header>
  );
}
