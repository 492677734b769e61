import { useState, type ReactNode } from 'react';
import { Button, Field, Modal, Problem } from '../../parts/basics.js';
import { isCopied } from '../../parts/copy.js';
import { isStale, Stale, useAct } from './act.js';

export interface Input {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly required?: boolean;
  readonly placeholder?: string;
  /** `lines`: one item a line. `pairs`: `NAME=value` a line. */
  readonly kind?: 'text' | 'area' | 'number' | 'lines' | 'pairs' | 'flag' | 'password';
  readonly choices?: readonly (readonly [value: string, label: string])[];
  /** Shown and not changed. */
  readonly fixed?: boolean;
}
export type Values = Readonly<Record<string, string>>;

export const linesOf = (text: string | undefined): string[] =>
  (text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

export function pairsOf(text: string | undefined): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of linesOf(text)) {
    const at = line.indexOf('=');
    if (at <= 0) throw new Error(`“${line}” is not NAME=value`);
    found[line.slice(0, at).trim()] = line.slice(at + 1);
  }
  return found;
}

export const asLines = (items: readonly string[] | null | undefined): string => (items ?? []).join('\n');
export const asPairs = (pairs: Readonly<Record<string, string>> | null | undefined): string =>
  Object.entries(pairs ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');

/** What a form was opened with. Others may change it meanwhile: a change is made on this, and on nothing that was read since. */
export interface Opened {
  readonly start: Values;
  /** Undefined where mine counts, whatever the revision is by now. */
  readonly ifMatch: number | undefined;
}

interface FormProps {
  readonly title: string;
  readonly inputs: readonly Input[];
  readonly start?: Values;
  /** Of what `start` was read from. */
  readonly revision?: number | undefined;
  readonly action: string;
  readonly not?: string | undefined;
  /** What it throws is shown, and the form stays. */
  readonly onSave: (values: Values, key: string, opened: Opened) => Promise<void>;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/** A dialog with a form: what was typed stays until it was taken. */
export function FormDialog({ title, inputs, start = {}, revision, action, not, onSave, onClose, children }: FormProps): ReactNode {
  const [opened] = useState<Opened>({ start, ifMatch: revision });
  const [values, setValues] = useState<Values>(start);
  const act = useAct();
  const save = (over: boolean): void =>
    void act
      .run(
        'save',
        async (key) => {
          await onSave(values, key, over ? { ...opened, ifMatch: undefined } : opened);
        },
        values,
      )
      .then((done) => done && onClose());
  const stale = isStale(act.error);
  return (
    <Modal title={title} onClose={onClose} wide>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save(false);
        }}
      >
        {children}
        {inputs.map((input) => (
          <OneInput
            key={input.name}
            input={input}
            value={values[input.name] ?? ''}
            onChange={(value) => setValues((before) => ({ ...before, [input.name]: value }))}
          />
        ))}
        {stale ? (
          <Stale error={act.error} onMine={() => save(true)} onTheirs={onClose} />
        ) : (
          act.error !== undefined && <Problem error={act.error} />
        )}
        {!stale && (
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" look="primary" not={not} disabled={act.busy !== undefined}>
              {act.busy === undefined ? action : 'Working …'}
            </Button>
          </div>
        )}
      </form>
    </Modal>
  );
}

function OneInput({ input, value, onChange }: { input: Input; value: string; onChange: (value: string) => void }): ReactNode {
  const { label, hint, required = false, placeholder, kind = 'text', choices, fixed = false } = input;
  if (kind === 'flag')
    return (
      <label className="flex min-h-8 items-center gap-2 text-sm">
        <input type="checkbox" checked={value === 'true'} onChange={(event) => onChange(event.target.checked ? 'true' : '')} />
        <span>
          {label}
          {hint !== undefined && <span className="block text-xs text-muted">{hint}</span>}
        </span>
      </label>
    );
  return (
    <Field label={label} hint={hint}>
      {(id) =>
        choices !== undefined ? (
          <select id={id} value={value} onChange={(event) => onChange(event.target.value)} className="field">
            {choices.map(([of, name]) => (
              <option key={of} value={of}>
                {name}
              </option>
            ))}
          </select>
        ) : kind === 'area' || kind === 'lines' || kind === 'pairs' ? (
          <textarea
            id={id}
            rows={kind === 'area' ? 8 : 3}
            required={required}
            readOnly={fixed}
            spellCheck={false}
            value={value}
            placeholder={placeholder ?? (kind === 'pairs' ? 'NAME=value' : undefined)}
            onChange={(event) => onChange(event.target.value)}
            className="field font-mono text-[13px] read-only:bg-raised"
          />
        ) : (
          <input
            id={id}
            type={kind === 'number' ? 'number' : kind}
            required={required}
            readOnly={fixed}
            value={value}
            placeholder={placeholder}
            onChange={(event) => onChange(event.target.value)}
            className="field read-only:bg-raised"
          />
        )
      }
    </Field>
  );
}

/** For what cannot be undone and is large: its name is typed. */
interface SureProps {
  readonly title: string;
  /** What is to be typed. */
  readonly word: string;
  readonly action: string;
  readonly children: ReactNode;
  readonly onYes: () => void;
  readonly onClose: () => void;
}
export function Sure({ title, word, action, children, onYes, onClose }: SureProps): ReactNode {
  const [typed, setTyped] = useState('');
  return (
    <Modal title={title} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed !== word) return;
          onYes();
          onClose();
        }}
      >
        <div className="words text-muted">{children}</div>
        <Field label={`Type “${word}” to go on`}>
          {(id) => (
            <input
              id={id}
              autoComplete="off"
              autoFocus
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
              className="field"
            />
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="bad" disabled={typed !== word}>
            {action}
          </Button>
        </div>
      </form>
    </Modal>
  );
}

/** A text that is copied as it is. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }): ReactNode {
  const [done, setDone] = useState(false);
  return <Button onClick={() => void isCopied(text).then(setDone)}>{done ? 'Copied' : label}</Button>;
}
