import { useState, type ReactNode } from 'react';
import { Refusal } from '../api/client.js';
import { newKey, UnderWay } from '../lib/wishes.js';
import { Button, Field, Modal } from './basics.js';

/**
 * What is done to a thing: its refusal stands where the thing does, and what somebody else has changed meanwhile is told as that. What has a
 * name is not done again while it is under way, by a button or by a key.
 */
export function useActing(again?: () => void): {
  readonly failed: unknown;
  readonly busy: boolean;
  readonly act: (work: () => Promise<unknown>, then?: () => void, name?: string) => void;
} {
  const [failed, setFailed] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [underWay] = useState(() => new UnderWay());
  return {
    failed,
    busy,
    act: (work, then, name = newKey()) => {
      const done = underWay.begin(name, work);
      if (done === undefined) return;
      setFailed(undefined);
      setBusy(true);
      done
        .then(
          () => then?.(),
          (refused: unknown) => {
            setFailed(
              refused instanceof Refusal && refused.status === 412
                ? new Error('Somebody has changed it meanwhile: look, and do it again.')
                : refused,
            );
            again?.();
          },
        )
        .finally(() => setBusy(false));
    },
  };
}

interface AskProps {
  readonly title: string;
  readonly label: string;
  readonly hint?: string;
  readonly value?: string;
  readonly action: string;
  /** Names that are likely meant. */
  readonly offers?: readonly string[];
  readonly empty?: boolean;
  readonly long?: boolean;
  readonly onSay: (value: string) => void;
  readonly onClose: () => void;
}

/** One value, asked for. */
export function AskFor({
  title,
  label,
  hint,
  value = '',
  action,
  offers,
  empty = false,
  long = false,
  onSay,
  onClose,
}: AskProps): ReactNode {
  const [text, setText] = useState(value);
  return (
    <Modal title={title} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          onSay(text.trim());
          onClose();
        }}
      >
        <Field label={label} hint={hint}>
          {(id) =>
            long ? (
              <textarea id={id} autoFocus rows={4} value={text} onChange={(event) => setText(event.target.value)} className="field" />
            ) : (
              <>
                <input
                  id={id}
                  autoFocus
                  maxLength={500}
                  list={offers === undefined ? undefined : `${id}-offers`}
                  value={text}
                  onChange={(event) => setText(event.target.value)}
                  className="field"
                />
                {offers !== undefined && (
                  <datalist id={`${id}-offers`}>
                    {offers.map((one) => (
                      <option key={one} value={one} />
                    ))}
                  </datalist>
                )}
              </>
            )
          }
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={!empty && text.trim() === ''}>
            {action}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
