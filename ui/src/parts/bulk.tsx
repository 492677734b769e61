import { useState, type ReactNode } from 'react';
import { inCity, newKey, part, post, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Bead } from '../api/types.js';
import { counted } from '../lib/counted.js';
import { useKeys } from '../lib/keys.js';
import { forEach, type Outcome } from '../lib/parallel.js';
import { done } from '../live/undo.js';
import { useAgentNames } from '../live/agents.js';
import { AskFor } from './acting.js';
import { Button, Confirm, Modal } from './basics.js';
import { SlingForm, type Sling } from './sling.js';

const AT_ONCE = 4;
type Ask = 'close' | 'label' | 'assign' | 'sling';

interface Props {
  readonly city: string;
  /** What is marked. */
  readonly beads: readonly Bead[];
  readonly onClear: () => void;
}

/** The same, done to many: four requests at a time, and at the end what was refused, each with its reason. */
function BulkBar({ city, beads, onClear }: Props): ReactNode {
  const [ask, setAsk] = useState<Ask>();
  /** Those that it was begun for: what is closed may leave the list meanwhile. */
  const [ended, setEnded] = useState<{ readonly count: number; readonly of: number }>();
  const [failures, setFailures] = useState<Outcome<Bead>['failed']>([]);
  const not = useForbidden(needs.closeBead, needs.reopenBead, needs.addBeadLabels, needs.removeBeadLabel, needs.assignBead, needs.sling);
  const names = useAgentNames(city, ask === 'assign');
  const path = (bead: Bead): string => inCity(city, `bead/${part(bead.id)}`);
  const some = (count: number): string => counted(count, 'bead');

  const run = async (
    what: string,
    targets: readonly Bead[],
    work: (bead: Bead) => Promise<unknown>,
    undo?: (bead: Bead) => Promise<unknown>,
  ): Promise<void> => {
    const tell = (count: number): void => setEnded({ count, of: targets.length });
    tell(0);
    setFailures([]);
    const outcome = await forEach(targets, AT_ONCE, work, tell);
    setEnded(undefined);
    setFailures(outcome.failed);
    if (outcome.done.length > 0)
      done(
        `${what}: ${some(outcome.done.length)}`,
        undo === undefined
          ? undefined
          : async () => {
              const { failed } = await forEach(outcome.done, AT_ONCE, undo);
              if (failed.length > 0) throw new Error(`${some(failed.length)} of ${outcome.done.length} refused it`);
            },
      );
    if (outcome.failed.length === 0) onClear();
  };
  const open = beads.filter(({ status }) => status !== 'closed');
  const close = (): void =>
    void run(
      'Closed',
      open,
      (bead) => post(`${path(bead)}/close`, {}, { ifMatch: bead.revision }),
      (bead) => post(`${path(bead)}/reopen`),
    );
  const label = (name: string): void => {
    const without = beads.filter(({ labels }) => labels?.includes(name) !== true);
    void run(
      `Labelled ${name}`,
      without,
      (bead) => post(`${path(bead)}/labels`, { labels: [name] }),
      (bead) => request('DELETE', `${path(bead)}/labels/${part(name)}`, {}),
    );
  };
  const assign = (assignee: string): void =>
    void run(
      assignee === '' ? 'Assigned to nobody' : `Assigned to ${assignee}`,
      beads,
      (bead) => post(`${path(bead)}/assign`, { assignee }, { ifMatch: bead.revision }),
      (bead) => post(`${path(bead)}/assign`, { assignee: bead.assignee ?? '' }),
    );
  const sling = (wish: Sling): void => {
    const keys = new Map(open.map(({ id }) => [id, newKey()]));
    void run(`Slung to ${wish.target}`, open, (bead) =>
      post(
        inCity(city, 'sling'),
        { ...wish, ...(wish.formula === undefined ? { bead: bead.id } : { attached_bead_id: bead.id }) },
        { idempotencyKey: keys.get(bead.id)! },
      ),
    );
  };
  const busy = ended !== undefined;
  useKeys(
    'What is marked',
    not !== undefined || busy
      ? []
      : [
          { keys: 'C', label: 'close', run: () => setAsk('close') },
          { keys: 'l', label: 'label', run: () => setAsk('label') },
          { keys: 'a', label: 'assign', run: () => setAsk('assign') },
          { keys: 's', label: 'sling', run: () => setAsk('sling') },
          { keys: 'Escape', label: 'mark nothing', run: onClear },
        ],
  );
  return (
    <div role="region" aria-label="What is marked" data-bulk className="flex flex-col gap-2 border-t border-line bg-panel px-4 py-2">
      {failures.length > 0 && (
        <div role="alert" className="flex max-h-40 flex-col gap-1 overflow-auto rounded-lg bg-badtint px-3 py-2 text-sm text-bad">
          <p className="font-medium">{some(failures.length)} refused it:</p>
          <ul>
            {failures.map(({ item, why }) => (
              <li key={item.id} className="words">
                <code>{item.id}</code> {why instanceof Error ? why.message : 'it has failed'}
              </li>
            ))}
          </ul>
        </div>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <span role="status" className="text-sm font-medium tabular-nums">
          {ended !== undefined ? `${ended.count} of ${ended.of} …` : `${beads.length} marked`}
        </span>
        <Button hotkey="C" not={not} disabled={busy || open.length === 0} onClick={() => setAsk('close')}>
          Close
        </Button>
        <Button hotkey="l" not={not} disabled={busy} onClick={() => setAsk('label')}>
          Label
        </Button>
        <Button hotkey="a" not={not} disabled={busy} onClick={() => setAsk('assign')}>
          Assign
        </Button>
        <Button hotkey="s" not={not} disabled={busy || open.length === 0} onClick={() => setAsk('sling')}>
          Sling
        </Button>
        <Button look="quiet" className="ml-auto" onClick={onClear}>
          Mark nothing
        </Button>
      </div>
      {ask === 'close' && (
        <Confirm
          title={`Close ${some(open.length)}?`}
          action={`Close ${some(open.length)}`}
          onYes={close}
          onClose={() => setAsk(undefined)}
        >
          What depends on them may begin. It can be undone for a moment.
        </Confirm>
      )}
      {ask === 'label' && (
        <AskFor title={`Label ${some(beads.length)}`} label="Label" action="Label" onSay={label} onClose={() => setAsk(undefined)} />
      )}
      {ask === 'assign' && (
        <AskFor
          title={`Assign ${some(beads.length)}`}
          label="To whom"
          hint="The name of an agent, a session or a person; empty for nobody."
          action="Assign"
          empty
          offers={names}
          onSay={assign}
          onClose={() => setAsk(undefined)}
        />
      )}
      {ask === 'sling' && (
        <Modal title={`Sling ${some(open.length)}`} onClose={() => setAsk(undefined)}>
          <SlingForm
            city={city}
            onSay={(wish) => {
              setAsk(undefined);
              sling(wish);
            }}
            onCancel={() => setAsk(undefined)}
          />
        </Modal>
      )}
    </div>
  );
}

/** For lists whose rows can be marked: nothing is there until something is. */
export const Bulk = ({ city, beads, onClear }: Props): ReactNode =>
  beads.length === 0 ? null : <BulkBar city={city} beads={beads} onClear={onClear} />;
