import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { newKey } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Ask } from '../api/types.js';
import { sameCall } from '../lib/alike.js';
import { onceMore, whyUntold, type Call } from '../lib/approve.js';
import { isTooSoon } from '../lib/held.js';
import { idOf } from '../lib/mutes.js';
import { forEach } from '../lib/parallel.js';
import { visible, visibleAll } from '../lib/text.js';
import { askerOf, respond, whyNot } from './ask-card.js';
import { Age, Button, Modal, State } from './basics.js';
import { ToolTold } from './tool.js';
import { readCall } from './tool-use.js';

const AT_ONCE = 4;
const wordsOf = (why: unknown): string => (why instanceof Error ? why.message : 'it has failed');

/** What is known of one of them: whether it asks for the same, and what has become of its answer. */
type Known =
  | { readonly at: 'reading' | 'same' | 'sending' }
  | { readonly at: 'other' | 'refused'; readonly why: string }
  | { readonly at: 'answered'; readonly label: string };

interface Found {
  readonly ask: Ask;
  readonly call: Call | undefined;
  readonly why?: string;
}

async function look(ask: Ask): Promise<Found> {
  try {
    const call = await readCall(ask);
    const untold = ask.metadata?.tool_call_id === undefined ? undefined : whyUntold(call);
    return { ask, call, ...(untold === undefined ? {} : { why: `${untold}: answer it by itself` }) };
  } catch (error) {
    return { ask, call: undefined, why: wordsOf(error) };
  }
}

/** Questions about no call ask what their words say, which are the same. */
const isSame = (one: Call | undefined, other: Call | undefined): boolean =>
  one === undefined || other === undefined ? one === other : sameCall(one, other);

interface Props {
  /** Questions in the same words, about the same tool, with the same answers. */
  readonly asks: readonly Ask[];
  readonly onClose: () => void;
}

/** Several questions that ask the same, listed, and answered with one choice: each by a request of its own, and each told what came of it. */
export function Alike({ asks: given, onClose }: Props): ReactNode {
  // What comes or goes meanwhile changes nothing of what was agreed to.
  const [asks] = useState(given);
  const [known, setKnown] = useState<ReadonlyMap<string, Known>>(() => new Map(asks.map((ask) => [idOf(ask), { at: 'reading' }])));
  const [call, setCall] = useState<Call>();
  const [armed, setArmed] = useState<{ readonly action: string; readonly why: string; readonly at: number }>();
  const keys = useRef(new Map<string, string>());
  const forbidden = useForbidden(needs.respondSession);
  const tell = (ask: Ask, is: Known): void => setKnown((before) => new Map(before).set(idOf(ask), is));
  useEffect(() => {
    let gone = false;
    const found = new Map<string, Found>();
    void forEach(asks, AT_ONCE, async (ask) => found.set(idOf(ask), await look(ask))).then(() => {
      if (gone) return;
      const all = asks.map((ask) => found.get(idOf(ask))!);
      const first = all.find(({ why }) => why === undefined);
      setCall(first?.call);
      for (const { ask, call: one, why } of all)
        tell(
          ask,
          why === undefined && isSame(first?.call, one)
            ? { at: 'same' }
            : { at: 'other', why: why ?? 'it would do something else: answer it by itself' },
        );
    });
    return () => {
      gone = true;
    };
  }, [asks]);

  const open = useMemo(() => asks.filter((ask) => ['same', 'refused'].includes(known.get(idOf(ask))!.at)), [asks, known]);
  const reading = [...known.values()].some(({ at }) => at === 'reading');
  const sending = [...known.values()].some(({ at }) => at === 'sending');
  const counted = (at: Known['at']): number => [...known.values()].filter((one) => one.at === at).length;
  const answer = (action: string, label: string, kind = ''): void => {
    const why = onceMore(kind, false);
    if (why !== undefined && armed?.action !== action) return setArmed({ action, why, at: performance.now() });
    if (why !== undefined && armed !== undefined && isTooSoon(armed.at, performance.now())) return;
    setArmed(undefined);
    for (const ask of open) tell(ask, { at: 'sending' });
    void forEach(open, AT_ONCE, async (ask) => {
      const wish = `${idOf(ask)} ${action}`;
      const key = keys.current.get(wish) ?? newKey();
      keys.current.set(wish, key);
      try {
        await respond(ask, action, key);
        tell(ask, { at: 'answered', label });
      } catch (refused) {
        tell(ask, { at: 'refused', why: wordsOf(whyNot(ask, refused)) });
      }
    });
  };
  const first = asks[0];
  if (first === undefined) return null;
  const not = forbidden ?? (reading ? 'what they would do is not read yet' : sending ? 'it is being answered' : undefined);
  return (
    <Modal title={`${asks.length} questions that ask the same`} onClose={onClose} wide>
      <p className="words text-base">{visibleAll(first.prompt ?? first.kind)}</p>
      {first.metadata?.tool_name !== undefined && first.metadata.tool_name !== first.prompt && (
        <p className="text-sm text-muted">Tool: {visibleAll(first.metadata.tool_name)}</p>
      )}
      {call !== undefined && <ToolTold call={call} />}
      <ul aria-label="Who asks it" className="flex flex-col divide-y divide-line rounded-lg border border-line">
        {asks.map((ask) => (
          <li key={idOf(ask)} data-alike={ask.request_id} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 px-3 py-2 text-sm">
            <span className="min-w-0 truncate font-medium">{visible(askerOf(ask))}</span>
            <span className="text-muted">in {ask.city}</span>
            <span className="text-xs text-muted">
              waits <Age at={ask.opened_at} />
            </span>
            <span className="ml-auto">
              <Told known={known.get(idOf(ask))!} />
            </span>
          </li>
        ))}
      </ul>
      <p role="status" className="text-sm text-muted">
        {[
          reading ? 'Reading what each would do …' : '',
          counted('answered') > 0 ? `${counted('answered')} answered` : '',
          counted('refused') > 0 ? `${counted('refused')} not` : '',
        ]
          .filter(Boolean)
          .join(', ')}
      </p>
      <div className="flex flex-wrap justify-end gap-2">
        {open.length > 0 &&
          (first.choices ?? []).map(({ id, label, kind }, i) => (
            <Button
              key={id}
              look={kind?.startsWith('reject') === true ? 'bad' : i === 0 ? 'primary' : 'plain'}
              not={not}
              onClick={() => answer(id, label, kind)}
            >
              {armed?.action === id
                ? `Again, ${armed.why}: ${visibleAll(label)}, ${open.length === 1 ? 'once' : `${open.length} times`}`
                : `${visibleAll(label)}: all ${open.length}`}
            </Button>
          ))}
        <Button onClick={onClose}>{open.length === 0 && !reading ? 'Done' : 'Cancel'}</Button>
      </div>
    </Modal>
  );
}

function Told({ known }: { known: Known }): ReactNode {
  if (known.at === 'answered') return <State tone="good">answered: {visible(known.label)}</State>;
  if (known.at !== 'other' && known.at !== 'refused')
    return <State tone={known.at === 'same' ? 'accent' : 'quiet'}>{known.at === 'same' ? 'asks the same' : known.at}</State>;
  return (
    <span className={`words ${known.at === 'refused' ? 'text-bad' : 'text-warn'}`}>
      {known.at === 'refused' ? '▲' : '◆'} {visible(known.why)}
    </span>
  );
}
