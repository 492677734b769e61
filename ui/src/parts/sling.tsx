import { useEffect, useState, type ReactNode } from 'react';
import { get, inCity, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { useWishes } from '../lib/wishes.js';
import { useAgentNames } from '../live/agents.js';
import { done } from '../live/undo.js';
import { Button, Field, Modal, Problem } from './basics.js';

export interface Sling {
  readonly target: string;
  readonly formula?: string;
  readonly vars?: Readonly<Record<string, string>>;
  readonly title?: string;
  readonly reassign?: boolean;
  readonly force?: boolean;
}

type Formula = Schemas['FormulaSummaryResponse'];

const valueOf = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);

export function useFormulas(city: string): readonly Formula[] {
  const [found, setFound] = useState<readonly Formula[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    get<Schemas['FormulaListBody']>(inCity(city, 'formulas'), {
      query: { scope_kind: 'city', scope_ref: city, limit: 500 },
      signal: stop.signal,
    })
      .then(({ items }) => setFound(items))
      .catch(() => undefined);
    return () => stop.abort();
  }, [city]);
  return found;
}

interface FormProps {
  readonly city: string;
  /** A formula that is given: its variables are asked for. */
  readonly formula?: Formula | undefined;
  readonly target?: string;
  readonly vars?: Readonly<Record<string, string>>;
  readonly action?: string;
  readonly busy?: boolean;
  readonly error?: unknown;
  readonly onSay: (wish: Sling) => void;
  readonly onCancel: () => void;
}

/** To whom work goes, and by which formula it is done. */
export function SlingForm({
  city,
  formula: given,
  target: to = '',
  vars: had,
  action = 'Sling',
  busy = false,
  error,
  onSay,
  onCancel,
}: FormProps): ReactNode {
  const names = useAgentNames(city);
  const formulas = useFormulas(city);
  const [target, setTarget] = useState(to);
  const [chosen, choose] = useState(given?.name ?? '');
  const [vars, setVars] = useState<Readonly<Record<string, string>>>(had ?? {});
  const [reassign, setReassign] = useState(false);
  const formula = given ?? formulas.find(({ name }) => name === chosen);
  const missing =
    formula?.var_defs.some(({ name, required, default: value }) => required === true && value === undefined && (vars[name] ?? '') === '') ??
    false;
  const not = useForbidden(needs.sling);
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        const filled = Object.fromEntries(
          Object.entries(vars).filter(([name, value]) => value !== '' && formula?.var_defs.some((one) => one.name === name)),
        );
        onSay({
          target: target.trim(),
          ...(chosen === '' ? {} : { formula: chosen }),
          ...(Object.keys(filled).length === 0 ? {} : { vars: filled }),
          ...(reassign ? { reassign: true } : {}),
        });
      }}
    >
      <Field label="To" hint="An agent, or a pool of agents.">
        {(id) => (
          <>
            <input
              id={id}
              required
              autoFocus
              maxLength={500}
              list={`${id}-names`}
              value={target}
              onChange={(event) => setTarget(event.target.value)}
              className="field"
            />
            <datalist id={`${id}-names`}>
              {names.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      {given === undefined && (
        <Field label="By the formula">
          {(id) => (
            <select id={id} value={chosen} onChange={(event) => choose(event.target.value)} className="field">
              <option value="">None: the agent does the bead itself</option>
              {formulas.map(({ name, title }) => (
                <option key={name} value={name}>
                  {title === undefined || title === '' ? name : `${name}: ${title}`}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      {formula?.var_defs.map((one) => (
        <Field key={one.name} label={one.required === true ? one.name : `${one.name} (may stay empty)`} hint={one.description}>
          {(id) =>
            one.enum === undefined ? (
              <input
                id={id}
                required={one.required === true && one.default === undefined}
                placeholder={valueOf(one.default)}
                value={vars[one.name] ?? ''}
                onChange={(event) => setVars({ ...vars, [one.name]: event.target.value })}
                className="field"
              />
            ) : (
              <select
                id={id}
                value={vars[one.name] ?? ''}
                onChange={(event) => setVars({ ...vars, [one.name]: event.target.value })}
                className="field"
              >
                <option value="" />
                {one.enum.map((value) => (
                  <option key={value}>{value}</option>
                ))}
              </select>
            )
          }
        </Field>
      ))}
      {given === undefined && (
        <label className="flex min-h-8 items-center gap-2 text-sm">
          <input type="checkbox" checked={reassign} onChange={(event) => setReassign(event.target.checked)} />
          Take it from whoever has it
        </label>
      )}
      {error !== undefined && <Problem error={error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" not={not} disabled={busy || missing || target.trim() === ''}>
          {action}
        </Button>
      </div>
    </form>
  );
}

interface DialogProps {
  readonly city: string;
  readonly bead: string;
  readonly onClose: () => void;
}

/** One bead, slung. What stands against it is told, and the form stays as it is. */
export function SlingDialog({ city, bead, onClose }: DialogProps): ReactNode {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const wishes = useWishes();
  const say = (wish: Sling): void => {
    setBusy(true);
    setError(undefined);
    const body = { ...wish, ...(wish.formula === undefined ? { bead } : { attached_bead_id: bead }) };
    const sent = wishes.send(body, (idempotencyKey) => post<Schemas['SlingResponse']>(inCity(city, 'sling'), body, { idempotencyKey }));
    sent.then(
      ({ target, changed, convoy_id: convoy }) => {
        done(
          changed
            ? `${bead} is slung to ${target}${convoy === undefined ? '' : ` (convoy ${convoy})`}`
            : `${bead} was slung to ${target} already`,
        );
        onClose();
      },
      (refused: unknown) => {
        setError(refused);
        setBusy(false);
      },
    );
  };
  return (
    <Modal title={`Sling ${bead}`} onClose={onClose}>
      <SlingForm city={city} busy={busy} error={error} onSay={say} onCancel={onClose} />
    </Modal>
  );
}
