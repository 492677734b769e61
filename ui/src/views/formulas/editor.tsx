import { useState, type ReactNode } from 'react';
import { inCity, part, request } from '../../api/client.js';
import { useForbidden } from '../../api/info.js';
import * as needs from '../../api/needs.gen.js';
import type { Schemas } from '../../api/types.js';
import { visible } from '../../lib/text.js';
import { Button, Field, Modal, Problem, State } from '../../parts/basics.js';
import { isStale, Stale } from '../admin/act.js';

interface Props {
  readonly city: string;
  /** Undefined for a new one, which is named here. */
  readonly name: string | undefined;
  readonly source: string;
  /** What was read of it, and is not to be overwritten unseen. */
  readonly revision: number | undefined;
  /** Those that there are. */
  readonly names?: readonly string[];
  readonly onDone: (name: string) => void;
  readonly onTheirs: () => void;
  readonly onClose: () => void;
}

const FIRST = `formula = "greet"

[[steps]]
id = "say"
title = "Say hello"
`;

/** The file of a formula, written here: looked at by the service before it counts, and refused with all that is wrong. */
export function FormulaEditor({ city, name, source, revision, names = [], onDone, onTheirs, onClose }: Props): ReactNode {
  const [called, call] = useState(name ?? '');
  const [text, setText] = useState(name === undefined ? FIRST : source);
  const [answer, setAnswer] = useState<Schemas['FormulaValidateOutputBody']>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  // What somebody else saves meanwhile is not what was read here.
  const [read] = useState(revision);
  const not = useForbidden(needs.saveFormula, needs.validateFormula);
  const path = inCity(city, `formulas/${part(called.trim())}`);
  const run = (work: Promise<unknown>, then: (answer: unknown) => void): void => {
    setBusy(true);
    setError(undefined);
    setAnswer(undefined);
    work.then(then, setError).finally(() => setBusy(false));
  };
  /** What is overwritten is what the page shows by now, and nothing later than that. */
  const save = (over = false): void =>
    run(request('PUT', path, { file: text, ...(name === undefined ? {} : { ifMatch: over ? revision : read }) }), () =>
      onDone(called.trim()),
    );
  return (
    <Modal title={name === undefined ? 'New formula' : `The file of ${name}`} onClose={onClose} wide>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        {name === undefined && (
          <Field
            label="Name"
            hint={names.includes(called.trim()) ? 'There is one of this name already: what is saved counts in its place.' : undefined}
          >
            {(id) => (
              <input
                id={id}
                required
                autoFocus
                maxLength={200}
                value={called}
                onChange={(event) => call(event.target.value)}
                className="field"
              />
            )}
          </Field>
        )}
        <Field label="File">
          {(id) => (
            <textarea
              id={id}
              rows={18}
              spellCheck={false}
              value={text}
              onChange={(event) => {
                setText(event.target.value);
                setAnswer(undefined);
              }}
              className="field font-mono text-[13px]"
            />
          )}
        </Field>
        {answer !== undefined &&
          (answer.valid ? (
            <p role="status">
              <State tone="good">Nothing is wrong with it</State>
            </p>
          ) : (
            <ul role="alert" className="flex flex-col gap-1 text-sm text-bad">
              {(answer.errors ?? []).map((one, i) => (
                <li key={i} className="words">
                  {visible(one)}
                </li>
              ))}
            </ul>
          ))}
        {isStale(error) ? (
          <Stale error={error} onMine={() => save(true)} onTheirs={onTheirs} />
        ) : (
          error !== undefined && <Problem error={error} />
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <Button
            disabled={busy || called.trim() === ''}
            onClick={() =>
              run(request('POST', `${path}/validate`, { file: text }), (told) => setAnswer(told as Schemas['FormulaValidateOutputBody']))
            }
          >
            Look for mistakes
          </Button>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" not={not} disabled={busy || called.trim() === ''}>
            Save
          </Button>
        </div>
      </form>
    </Modal>
  );
}
