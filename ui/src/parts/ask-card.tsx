import { Link } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react';
import { inCity, newKey, part, post, Refusal } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Ask } from '../api/types.js';
import { onceMore, whyUntold, type Call } from '../lib/approve.js';
import { isTooSoon } from '../lib/held.js';
import { useKeys } from '../lib/keys.js';
import type { Moves } from '../lib/moves.js';
import { idOf } from '../lib/mutes.js';
import { useEnds, useSeen } from '../lib/sight.js';
import { visible, visibleAll } from '../lib/text.js';
import { answerOf } from '../live/supervisor.js';
import { Age, Button, Problem } from './basics.js';
import { ToolTold } from './tool.js';
import { readCall } from './tool-use.js';

type Detail = { kind: 'reading' } | { kind: 'known'; call: Call | undefined } | { kind: 'failed'; error: unknown };

/** What the transcript says that the tool would do, where the question names a call, and somebody sees it. */
function useCall(ask: Ask, seen: boolean): { detail: Detail; again: () => void } {
  const call = ask.metadata?.tool_call_id;
  const [detail, setDetail] = useState<Detail>(call === undefined ? { kind: 'known', call: undefined } : { kind: 'reading' });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (call === undefined || !seen) return;
    const stop = new AbortController();
    readCall(ask, stop.signal)
      .then((found) => setDetail({ kind: 'known', call: found }))
      .catch((error: unknown) => {
        if (!stop.signal.aborted) setDetail({ kind: 'failed', error });
      });
    return () => stop.abort();
  }, [ask.city, ask.session_id, call, turn, seen]);
  return { detail, again: useCallback(() => setTurn((before) => before + 1), []) };
}

/** Answers this question and no other. @throws Refusal */
export const respond = (ask: Ask, action: string, idempotencyKey: string): Promise<unknown> =>
  post(inCity(ask.city, `session/${part(ask.session_id)}/respond`), { action, request_id: ask.request_id }, { idempotencyKey });

/** Why an answer was not taken: whoever was first is named. */
export function whyNot(ask: Ask, refused: unknown): unknown {
  const first = answerOf(ask);
  if (!(refused instanceof Refusal) || refused.status !== 409 || first === undefined) return refused;
  return new Error(`${first.by} was first, and has chosen “${first.action}”`);
}

export const askerOf = ({ alias, agent, title, session_id }: Ask): string =>
  [alias, agent, title].find((one) => one !== undefined && one !== '') ?? session_id;

interface CardProps {
  readonly ask: Ask;
  /** Its keys are the ones that count. */
  readonly focused: boolean;
  readonly onFocus?: () => void;
  /** How it and its neighbours move. */
  readonly moves?: Moves;
  /** Within the session itself its name is known. */
  readonly bare?: boolean;
  /** What else is done about it, beside its answers. */
  readonly also?: ReactNode;
}

/** One question of an agent: exactly what is approved, and one button for each answer. */
export function AskCard({ ask, focused, onFocus, moves, bare = false, also }: CardProps): ReactNode {
  const [sent, setSent] = useState<string>();
  const [armed, setArmed] = useState<{ readonly action: string; readonly why: string; readonly at: number }>();
  const [error, setError] = useState<unknown>();
  const [word, setWord] = useState('');
  const keys = useRef(new Map<string, string>());
  const card = useRef<HTMLElement>(null);
  const {
    ends: [first, last],
    unread,
  } = useEnds();
  const { detail, again } = useCall(ask, useSeen(card, focused || bare));
  const forbidden = useForbidden(needs.respondSession);
  const choices = ask.choices ?? [];
  const not = forbidden ?? (detail.kind === 'known' ? undefined : 'what it would do is not read yet');

  // It names a call, and nothing says what that would do: somebody would allow what nobody has shown him.
  const untold = ask.metadata?.tool_call_id !== undefined && detail.kind === 'known' ? whyUntold(detail.call) : undefined;

  useEffect(() => {
    if (focused && !bare) card.current?.scrollIntoView({ block: 'nearest' });
  }, [focused, bare]);

  const answer = (action: string, kind = '', by: 'key' | 'pointer' = 'pointer'): void => {
    if (not !== undefined || sent !== undefined || action === '') return;
    if (moves?.isSettled(idOf(ask), performance.now(), by) === false) return;
    const longer = unread();
    const why = onceMore(kind, untold !== undefined, longer !== undefined);
    if (why !== undefined && (armed?.action !== action || longer !== undefined)) {
      longer?.scrollIntoView({ block: 'center' });
      if (longer !== undefined) moves?.scrolled(performance.now());
      return setArmed({ action, why, at: performance.now() });
    }
    if (why !== undefined && armed !== undefined && isTooSoon(armed.at, performance.now())) return;
    const key = keys.current.get(action) ?? newKey();
    keys.current.set(action, key);
    setSent(action);
    setError(undefined);
    respond(ask, action, key).catch((refused: unknown) => {
      setSent(undefined);
      setError(whyNot(ask, refused));
    });
  };
  useKeys(
    'The question',
    focused
      ? choices.slice(0, 9).map(({ id, label, kind }, i) => ({ keys: String(i + 1), label, run: () => answer(id, kind, 'key') }))
      : [],
  );

  const name = askerOf(ask);
  const tool = ask.metadata?.tool_name ?? (detail.kind === 'known' ? detail.call?.use.name : undefined);
  return (
    <article
      ref={card}
      data-ask={ask.request_id}
      aria-label={`Question of ${name}`}
      aria-current={focused ? 'true' : undefined}
      onFocus={onFocus}
      onPointerDown={onFocus}
      className="relative flex flex-col gap-3 rounded-xl border border-line bg-panel p-4 aria-[current]:border-accent aria-[current]:shadow-sm"
    >
      {!bare && (
        <header className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5 text-sm">
          <Link to="/c/$city/sessions/$id" params={{ city: ask.city, id: ask.session_id }} className="font-semibold hover:underline">
            {visible(name)}
          </Link>
          <span className="text-muted">in {ask.city}</span>
          {ask.title !== undefined && ask.title !== '' && ask.title !== name && (
            <span className="truncate text-muted">· {visible(ask.title)}</span>
          )}
          <span className="ml-auto text-xs text-muted">
            waits <Age at={ask.opened_at} />
          </span>
        </header>
      )}
      <span ref={first} className="-mb-3" />
      <p className="words text-base">{visibleAll(ask.prompt ?? ask.kind)}</p>
      {tool !== undefined && tool !== ask.prompt && <p className="text-sm text-muted">Tool: {visibleAll(tool)}</p>}
      {detail.kind === 'known' && detail.call !== undefined && (
        <div className="flex flex-col gap-3">
          <ToolTold call={detail.call} />
        </div>
      )}
      {/* What was in sight before the call was read is another end. */}
      <span key={detail.kind} ref={last} className="-mt-3" />
      {untold !== undefined && <p className="text-sm text-warn">{`${untold[0]!.toUpperCase()}${untold.slice(1)}.`}</p>}
      {detail.kind === 'reading' && <p className="text-sm text-muted">Reading what it would do …</p>}
      {detail.kind === 'failed' && <Problem error={detail.error} onRetry={again} />}
      {error !== undefined && <Problem error={error} />}
      {sent !== undefined ? (
        <p role="status" className="text-sm text-muted">
          Sent: {visibleAll(choices.find(({ id }) => id === sent)?.label ?? sent)}. The agent is told …
        </p>
      ) : choices.length > 0 ? (
        <div className="flex flex-wrap gap-2">
          {choices.map(({ id, label, kind }, i) => (
            <Button
              key={id}
              look={kind?.startsWith('reject') === true ? 'bad' : i === 0 ? 'primary' : 'plain'}
              {...(focused && i < 9 ? { hotkey: String(i + 1) } : {})}
              not={not}
              onClick={() => answer(id, kind)}
            >
              {armed?.action === id ? `Again, ${armed.why}: ${visibleAll(label)}` : visibleAll(label)}
            </Button>
          ))}
        </div>
      ) : (
        <form
          className="flex gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            answer(word.trim());
          }}
        >
          <input aria-label="Answer" value={word} maxLength={255} onChange={(event) => setWord(event.target.value)} className="field" />
          <Button type="submit" look="primary" not={not}>
            {armed !== undefined && armed.action === word.trim() ? `Again, ${armed.why}` : 'Answer'}
          </Button>
        </form>
      )}
      {also !== undefined && sent === undefined && <div className="flex flex-wrap gap-2">{also}</div>}
    </article>
  );
}
