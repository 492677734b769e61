import { useState, type ReactNode } from 'react';
import { inCity, part, post, Refusal } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Bead } from '../api/types.js';
import { labelLines, labelsOf } from '../lib/labels.js';
import { useWishes } from '../lib/wishes.js';
import { Button, Field, Problem } from './basics.js';
import { BeadConflict } from './bead-conflict.js';

interface Props {
  readonly city: string;
  /** What is changed; without one a bead is made. */
  readonly bead?: Bead;
  readonly onDone: (id: string) => void;
  readonly onCancel: () => void;
}

/** A bead, made or changed. What somebody else has changed meanwhile is not overwritten unseen. */
export function BeadForm({ city, bead, onDone, onCancel }: Props): ReactNode {
  const [title, setTitle] = useState(bead?.title ?? '');
  const [description, setDescription] = useState(bead?.description ?? '');
  const [priority, setPriority] = useState(bead === undefined ? '2' : String(bead.priority ?? ''));
  const [type, setType] = useState(bead?.issue_type ?? 'task');
  const [labels, setLabels] = useState(labelLines(bead?.labels));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const wishes = useWishes();
  const not = useForbidden(needs.createBead, needs.updateBeadByPost);
  /** What it was when the form was opened: changes are made on that, unless somebody says otherwise. */
  const [base] = useState(bead);
  const [attempt, setAttempt] = useState(0);
  const stale = error instanceof Refusal && error.status === 412;
  const save = async (on = base): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      if (base === undefined) {
        const wish = { title, type, priority: Number(priority), ...(description === '' ? {} : { description }), labels: labelsOf(labels) };
        const made = await wishes.send(wish, (idempotencyKey) => post<Bead>(inCity(city, 'beads'), wish, { idempotencyKey }));
        return onDone(made.id);
      }
      const had = base.labels ?? [];
      const wanted = labelsOf(labels, had);
      const body = {
        ...(title === base.title ? {} : { title }),
        ...(description === (base.description ?? '') ? {} : { description }),
        ...(type === base.issue_type ? {} : { type }),
        ...(priority === String(base.priority ?? '') ? {} : { priority: Number(priority) }),
        ...(wanted.every((label) => had.includes(label)) ? {} : { labels: wanted.filter((label) => !had.includes(label)) }),
        ...(had.every((label) => wanted.includes(label)) ? {} : { remove_labels: had.filter((label) => !wanted.includes(label)) }),
      };
      if (Object.keys(body).length > 0) await post(inCity(city, `bead/${part(base.id)}/update`), body, { ifMatch: on?.revision });
      onDone(base.id);
    } catch (refused) {
      setError(refused);
      setAttempt((before) => before + 1);
      setBusy(false);
    }
  };
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Field label="Title">
        {(id) => (
          <input
            id={id}
            required
            autoFocus
            maxLength={500}
            value={title}
            onChange={(event) => setTitle(event.target.value)}
            className="field"
          />
        )}
      </Field>
      <Field label="Description">
        {(id) => (
          <textarea id={id} rows={6} value={description} onChange={(event) => setDescription(event.target.value)} className="field" />
        )}
      </Field>
      <div className="grid gap-4 sm:grid-cols-3">
        <Field label="Type">
          {(id) => <input id={id} required value={type} onChange={(event) => setType(event.target.value)} className="field" />}
        </Field>
        <Field label="Priority">
          {(id) => (
            <select id={id} value={priority} onChange={(event) => setPriority(event.target.value)} className="field">
              {base !== undefined && base.priority === undefined && <option value="">None</option>}
              {[0, 1, 2, 3, 4].map((n) => (
                <option key={n} value={n}>
                  P{n}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Labels, one a line">
          {(id) => <textarea id={id} rows={2} value={labels} onChange={(event) => setLabels(event.target.value)} className="field" />}
        </Field>
      </div>
      {stale && base !== undefined ? (
        <BeadConflict
          city={city}
          base={base}
          mine={{
            title,
            description,
            issue_type: type,
            labels: labelsOf(labels, base.labels),
            ...(priority === '' ? {} : { priority: Number(priority) }),
          }}
          attempt={attempt}
          onTheirs={onCancel}
          onMine={(theirs) => void save(theirs)}
        />
      ) : (
        <>
          {error !== undefined && <Problem error={error} />}
          <div className="flex flex-wrap justify-end gap-2">
            <Button onClick={onCancel}>Cancel</Button>
            <Button type="submit" look="primary" not={not} disabled={busy || title.trim() === ''}>
              {base === undefined ? 'Create the bead' : 'Save'}
            </Button>
          </div>
        </>
      )}
    </form>
  );
}
