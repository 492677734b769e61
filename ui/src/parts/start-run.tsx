import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { inCity, post } from '../api/client.js';
import type { Schemas } from '../api/types.js';
import { useWishes } from '../lib/wishes.js';
import { done } from '../live/undo.js';
import { Field, Modal } from './basics.js';
import { SlingForm, useFormulas, type Sling } from './sling.js';

interface Props {
  readonly city: string;
  readonly formula: string;
  readonly target?: string;
  /** The bead that it is for. */
  readonly bead?: string;
  readonly onClose: () => void;
}

/** Launches a run, by itself or for a bead, and goes there. */
export function StartRun({ city, formula: name, target = '', bead: first = '', onClose }: Props): ReactNode {
  const formula = useFormulas(city).find((one) => one.name === name);
  const [bead, setBead] = useState(first);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const wishes = useWishes();
  const navigate = useNavigate();
  const say = (wish: Sling): void => {
    setBusy(true);
    setError(undefined);
    const body = { ...wish, formula: name, ...(bead.trim() === '' ? {} : { attached_bead_id: bead.trim() }) };
    const sent = wishes.send(body, (idempotencyKey) => post<Schemas['SlingResponse']>(inCity(city, 'sling'), body, { idempotencyKey }));
    sent.then(
      (answer) => {
        const id = answer.run?.run_id ?? answer.root_bead_id ?? answer.workflow_id;
        done(answer.changed ? `${name} is launched for ${answer.target}` : `That run goes on already`);
        onClose();
        if (id !== undefined) void navigate({ to: '/c/$city/runs/$id', params: { city, id } });
      },
      (refused: unknown) => {
        setError(refused);
        setBusy(false);
      },
    );
  };
  return (
    <Modal title={`Start ${name}`} onClose={onClose}>
      <Field label="For the bead (may stay empty)">
        {(id) => <input id={id} value={bead} onChange={(event) => setBead(event.target.value)} className="field" />}
      </Field>
      {formula === undefined ? (
        <p className="text-sm text-muted">Reading what it needs …</p>
      ) : (
        <SlingForm
          city={city}
          formula={formula}
          target={target}
          action="Start the run"
          busy={busy}
          error={error}
          onSay={say}
          onCancel={onClose}
        />
      )}
    </Modal>
  );
}
