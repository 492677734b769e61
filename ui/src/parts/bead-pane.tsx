import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { inCity, part, post, Refusal, request } from '../api/client.js';
import { useForbidden, useSigning } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Bead } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { useAgentNames } from '../live/agents.js';
import { useBead } from '../live/bead.js';
import { AskFor } from './acting.js';
import { About } from './bead-about.js';
import { Button, Confirm, Modal, Problem } from './basics.js';
import { BeadForm } from './bead-form.js';
import { BeadState } from './bead-state.js';
import { CopyId, copyId } from './copy-id.js';
import { Icon } from './icons.js';
import { SlingDialog } from './sling.js';

interface Props {
  readonly city: string;
  readonly id: string;
  readonly known?: Bead | undefined;
  readonly onClose?: () => void;
  /** Another reading of it, in the place of what it says. */
  readonly children?: ReactNode;
}

/** A bead with what can be done about it. */
export function BeadPane({ city, id, known, onClose, children }: Props): ReactNode {
  const { bead, around, error, again, more } = useBead(city, id, known);
  const [failed, setFailed] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [dialog, setDialog] = useState<'edit' | 'assign' | 'depend' | 'claim' | 'sling' | 'delete'>();
  const names = useAgentNames(city, dialog === 'assign' || dialog === 'claim');
  const signing = useSigning();
  const [undo, setUndo] = useState(false);
  const not = useForbidden(
    needs.updateBeadByPost,
    needs.closeBead,
    needs.reopenBead,
    needs.assignBead,
    needs.claimBead,
    needs.releaseBead,
    needs.deleteBead,
    needs.addBeadDependency,
    needs.removeBeadDependency,
    needs.sling,
  );
  const path = inCity(city, `bead/${part(id)}`);
  const act = (work: Promise<unknown>): Promise<boolean> => {
    setFailed(undefined);
    setBusy(true);
    return work
      .finally(() => setBusy(false))
      .then(
        () => true,
        (refused: unknown) => {
          setFailed(
            refused instanceof Refusal && refused.status === 412
              ? new Error('Somebody has changed it meanwhile: look, and do it again.')
              : refused,
          );
          again();
          return false;
        },
      );
  };
  const closed = bead?.status === 'closed';
  const close = (): void => {
    if (bead !== undefined && !closed && !busy)
      void act(post(`${path}/close`, {}, { ifMatch: bead.revision })).then((done) => setUndo(done));
  };
  const reopen = (): void => void act(post(`${path}/reopen`)).then(() => setUndo(false));
  const remove = (other: string): void => void act(request('DELETE', `${path}/dependencies/${part(other)}`, {})).then(again);
  useKeys('This bead', [{ keys: 'Y', label: 'copy its id', run: () => copyId(id) }]);
  useKeys(
    'The bead',
    bead === undefined || not !== undefined
      ? []
      : [
          { keys: 'e', label: 'edit', run: () => setDialog('edit') },
          { keys: 'a', label: 'assign', run: () => setDialog('assign') },
          { keys: 'd', label: 'add what it depends on', run: () => setDialog('depend') },
          ...(closed ? [] : [{ keys: 's', label: 'sling', run: () => setDialog('sling') }]),
          ...(claimable(bead) ? [{ keys: 'm', label: 'claim', run: () => setDialog('claim') }] : []),
          { keys: 'C', label: 'close it', run: close },
        ],
  );
  if (bead === undefined)
    return (
      <div className="p-4">
        {error !== undefined ? <Problem error={error} onRetry={again} /> : <p className="text-muted">Reading {id} …</p>}
        {onClose !== undefined && (
          <Button className="mt-3" onClick={onClose}>
            Close
          </Button>
        )}
      </div>
    );
  return (
    <div className="flex flex-col gap-4 p-4 md:p-5" data-bead-pane={id}>
      <header className="flex items-start gap-3">
        <div className="min-w-0 flex-1">
          <p className="flex items-center gap-3 text-xs text-muted">
            <Link to="/c/$city/beads/$id" params={{ city, id }} className="font-mono hover:underline">
              {id}
            </Link>
            <CopyId id={id} />
            <BeadState bead={bead} />
          </p>
          <h2 className="words mt-1 text-base font-semibold">{visible(bead.title)}</h2>
        </div>
        {onClose !== undefined && (
          <button type="button" aria-label="Close the bead" onClick={onClose} className="rounded-md p-2 text-muted hover:bg-raised">
            <Icon name="close" />
          </button>
        )}
      </header>
      {(error !== undefined || failed !== undefined) && <Problem error={failed ?? error} />}
      <div className="flex flex-wrap gap-2">
        <Button hotkey="e" not={not} onClick={() => setDialog('edit')}>
          Edit
        </Button>
        <Button hotkey="a" not={not} onClick={() => setDialog('assign')}>
          Assign
        </Button>
        <Button hotkey="d" not={not} onClick={() => setDialog('depend')}>
          Depends on
        </Button>
        {claimable(bead) && (
          <Button hotkey="m" not={not} onClick={() => setDialog('claim')}>
            Claim
          </Button>
        )}
        {bead.status === 'in_progress' && bead.assignee !== undefined && (
          <Button
            not={not}
            disabled={busy}
            onClick={() => void act(post(`${path}/release`, { assignee: bead.assignee, reason: 'given back by an operator' }))}
          >
            Give back
          </Button>
        )}
        {!closed && (
          <Button hotkey="s" not={not} onClick={() => setDialog('sling')}>
            Sling
          </Button>
        )}
        {closed ? (
          <Button not={not} disabled={busy} onClick={reopen}>
            {undo ? 'Undo: reopen' : 'Reopen'}
          </Button>
        ) : (
          <Button hotkey="C" not={not} disabled={busy} onClick={close}>
            Close
          </Button>
        )}
      </div>
      {onClose !== undefined && (
        <nav aria-label="Other readings" className="flex gap-4 text-sm">
          <Link to="/c/$city/beads/$id" params={{ city, id }} search={{ tab: 'timeline' }} className="text-accent underline">
            Timeline
          </Link>
          <Link to="/c/$city/beads/$id" params={{ city, id }} search={{ tab: 'graph' }} className="text-accent underline">
            Graph
          </Link>
        </nav>
      )}
      {children ?? <About city={city} bead={bead} around={around} onRemove={not === undefined ? remove : undefined} onMore={more} />}
      {children === undefined && (
        <Button look="bad" not={not} className="self-start" onClick={() => setDialog('delete')}>
          Delete
        </Button>
      )}
      {dialog === 'edit' && (
        <Modal title={`Edit ${id}`} onClose={() => setDialog(undefined)} wide>
          <BeadForm city={city} bead={bead} onDone={() => setDialog(undefined)} onCancel={() => setDialog(undefined)} />
        </Modal>
      )}
      {dialog === 'assign' && (
        <AskFor
          title={`Assign ${id}`}
          label="To whom"
          empty
          offers={names}
          hint="The name of an agent, a session or a person; empty for nobody."
          value={bead.assignee ?? ''}
          action="Assign"
          onClose={() => setDialog(undefined)}
          onSay={(assignee) => void act(post(`${path}/assign`, { assignee }, { ifMatch: bead.revision }))}
        />
      )}
      {dialog === 'claim' && (
        <AskFor
          title={`Claim ${id}`}
          label="For whom"
          hint="It is theirs until the lease ends, is extended, or is given back."
          value={signing.kind === 'in' && signing.info.caller.kind === 'key' ? signing.info.caller.name : 'human'}
          offers={names}
          action="Claim"
          onClose={() => setDialog(undefined)}
          onSay={(assignee) => void act(post(`${path}/claim`, { assignee }))}
        />
      )}
      {dialog === 'delete' && (
        <Confirm
          title={`Delete ${id}?`}
          action={`Delete ${id}`}
          onClose={() => setDialog(undefined)}
          onYes={() =>
            void act(request('DELETE', path, { query: { hard: true }, ifMatch: bead.revision })).then((gone) => {
              if (gone) onClose?.();
            })
          }
        >
          “{visible(bead.title)}” and its dependencies are gone for good: nothing brings them back, and its id is never used again. It is
          refused while other beads depend on it. To end work, close it.
        </Confirm>
      )}
      {dialog === 'sling' && <SlingDialog city={city} bead={id} onClose={() => setDialog(undefined)} />}
      {dialog === 'depend' && (
        <AskFor
          title={`What does ${id} depend on?`}
          label="Id of the other bead"
          hint="Until that one is closed this one is blocked."
          action="Add"
          onClose={() => setDialog(undefined)}
          onSay={(other) => {
            if (other !== '') void act(post(`${path}/dependencies`, { depends_on_id: other })).then(again);
          }}
        />
      )}
    </div>
  );
}

/** Open work that nothing blocks and nobody has. */
const claimable = ({ status, is_blocked: blocked, claim }: Bead): boolean =>
  status === 'open' && blocked !== true && claim?.lease_until === undefined;
