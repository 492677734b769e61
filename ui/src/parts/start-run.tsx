import { useNavigate } from '@tanstack/react-router';
import { useRef, useState, type ReactNode } from 'react';
import { inCity, newKey, post } from '../api/client.js';
import type { Schemas } from '../api/types.js';
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
  const key = useRef(newKey());
  const navigate = useNavigate();
  const say = (wish: Sling): void => {
    setBusy(true);
    setError(undefined);
    post<Schemas['SlingResponse']>(
      inCity(city, 'sling'),
      { ...wish, formula: name, ...(bead.trim() === '' ? {} : { attached_bead_id: bead.trim() }) },
      { idempotencyKey: key.current },
    ).then(
      (answer) => {
        const id = answer.run?.run_id ?? answer.root_bead_id ?? answer.workflow_id;
        done(answer.changed ? `${name} is launched for ${answer.target}` : `That run goes on already`);
        onClose();
        if (id !== undefined) void navigate({ to: '/c/$city/runs/$id', params: { city, id } });
      },
      (refused: unknown) => {
        setError(refused);
        setBusy(false);
        key.current = newKey();
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
