import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { get, inCity, newKey, part, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { counted } from '../lib/counted.js';
import { useKeys } from '../lib/keys.js';
import { idsIn, visible } from '../lib/text.js';
import { done } from '../live/undo.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { AskFor, useActing } from './acting.js';
import { Age, Button, Confirm, Problem, State } from './basics.js';
import { BeadState } from './bead-state.js';
import { CopyId } from './copy-id.js';
import { Icon } from './icons.js';
import { BeadLink } from './links.js';
import { Fact, Facts, Loading, Progress } from './page.js';
import { Words } from './words.js';

interface Props {
  readonly city: string;
  readonly id: string;
  readonly onClose?: () => void;
}

/** A convoy with its members: how far it is, what of it nobody has, and what can be done. */
export function ConvoyPane({ city, id, onClose }: Props): ReactNode {
  const path = inCity(city, `convoy/${part(id)}`);
  const { data, error, again } = useCityRead(
    city,
    `convoy ${id}`,
    (signal) => get<Schemas['ConvoyGetResponse']>(path, { signal }),
    kinds('bead.', 'convoy.'),
  );
  const { failed, busy, act } = useActing(again);
  const [dialog, setDialog] = useState<'add' | 'close' | 'land'>();
  const not = useForbidden(needs.addToConvoy, needs.removeFromConvoy, needs.landConvoy, needs.closeConvoy, needs.reopenBead);
  const convoy = data?.convoy;
  const closed = convoy?.status === 'closed';
  useKeys(
    'The convoy',
    convoy === undefined || closed || not !== undefined ? [] : [{ keys: 'a', label: 'add beads', run: () => setDialog('add') }],
  );
  if (convoy === undefined)
    return <div className="p-4">{error === undefined ? <Loading /> : <Problem error={error} onRetry={again} />}</div>;
  const members = data?.children ?? [];
  const owned = convoy.labels?.includes('owned') === true;
  const stranded = closed ? [] : members.filter(({ status, assignee }) => status !== 'closed' && (assignee ?? '') === '');
  const remove = (bead: string): void =>
    act(
      () => post(`${path}/remove`, { items: [bead] }),
      () => {
        again();
        done(`${bead} is no longer in ${id}`, () => post(`${path}/add`, { items: [bead] }));
      },
    );
  return (
    <div className="flex flex-col gap-4 p-4 md:p-5" data-convoy-pane={id}>
      <header className="flex items-start gap-3">
        <div className="min-w-0 flex-1">
          <p className="flex flex-wrap items-center gap-3 text-xs text-muted">
            <Link to="/c/$city/convoys/$id" params={{ city, id }} className="font-mono hover:underline">
              {id}
            </Link>
            <CopyId id={id} />
            <BeadState bead={convoy} />
            {stranded.length > 0 && <State tone="warn">{counted(stranded.length, 'bead')} that nobody has</State>}
          </p>
          <h2 className="words mt-1 text-base font-semibold">{visible(convoy.title)}</h2>
        </div>
        {onClose !== undefined && (
          <button type="button" aria-label="Close the convoy" onClick={onClose} className="rounded-md p-2 text-muted hover:bg-raised">
            <Icon name="close" />
          </button>
        )}
      </header>
      {(failed !== undefined || error !== undefined) && <Problem error={failed ?? error} />}
      <Progress done={data?.progress?.closed ?? 0} total={data?.progress?.total ?? members.length} />
      {!closed && (
        <div className="flex flex-wrap gap-2">
          <Button hotkey="a" not={not} disabled={busy} onClick={() => setDialog('add')}>
            Add beads
          </Button>
          {owned && (
            <Button not={not} disabled={busy} onClick={() => setDialog('land')}>
              Land
            </Button>
          )}
          <Button look="bad" not={not} disabled={busy} onClick={() => setDialog('close')}>
            Close
          </Button>
        </div>
      )}
      <Facts>
        <Fact name="Owner">{convoy.assignee === undefined ? undefined : visible(convoy.assignee)}</Fact>
        <Fact name="Landed">{owned ? 'by hand' : 'with its last bead'}</Fact>
        <Fact name="Rig">{convoy.rig}</Fact>
        <Fact name="Made">
          <Age at={convoy.created_at} /> ago
        </Fact>
      </Facts>
      {convoy.description !== undefined && convoy.description !== '' && <Words text={convoy.description} markdown />}
      <section className="border-t border-line pt-3">
        <h3 className="mb-1.5 text-sm font-medium">What is in it</h3>
        {members.length === 0 && <p className="text-sm text-muted">Nothing yet.</p>}
        <ul className="flex flex-col gap-1">
          {members.map((bead) => (
            <li key={bead.id} data-member={bead.id} className="flex items-center gap-3 text-sm">
              <BeadLink city={city} id={bead.id} />
              <span className="min-w-0 flex-1 truncate">{visible(bead.title)}</span>
              <span className="hidden max-w-28 truncate text-xs text-muted sm:block">{visible(bead.assignee ?? '')}</span>
              <BeadState bead={bead} />
              {!closed && (
                <Button look="quiet" not={not} disabled={busy} aria-label={`Take out ${bead.id}`} onClick={() => remove(bead.id)}>
                  Take out
                </Button>
              )}
            </li>
          ))}
        </ul>
      </section>
      {dialog === 'add' && (
        <AskFor
          title={`Add to ${id}`}
          label="Ids of beads"
          hint="By commas or spaces."
          action="Add"
          onClose={() => setDialog(undefined)}
          onSay={(text) => {
            const items = idsIn(text);
            act(
              () => post(`${path}/add`, { items }),
              () => {
                again();
                done(`${items.join(', ')} ${items.length === 1 ? 'is' : 'are'} in ${id}`, () => post(`${path}/remove`, { items }));
              },
            );
          }}
        />
      )}
      {dialog === 'land' && (
        <Confirm
          title={`Land ${id}?`}
          action={`Land ${id}`}
          onClose={() => setDialog(undefined)}
          onYes={() => act(() => post(`${path}/land`, {}, { idempotencyKey: newKey() }), again)}
        >
          It is closed when all that is in it is closed; otherwise it says what is not.
        </Confirm>
      )}
      {dialog === 'close' && (
        <Confirm
          title={`Close ${id}?`}
          action={`Close ${id}`}
          onClose={() => setDialog(undefined)}
          onYes={() =>
            act(
              () => post(`${path}/close`, { reason: 'closed by an operator' }),
              () => {
                again();
                done(`${id} is closed`, () => post(inCity(city, `bead/${part(id)}/reopen`)));
              },
            )
          }
        >
          What is in it stays as it is.
        </Confirm>
      )}
    </div>
  );
}
