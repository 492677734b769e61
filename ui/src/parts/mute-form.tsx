import { useState, type ReactNode } from 'react';
import { coversOf, wordsOf, type One } from '../lib/mutes.js';
import { visible } from '../lib/text.js';
import { mute, unmute } from '../live/mutes.js';
import { done } from '../live/undo.js';
import { Button, Field, Modal } from './basics.js';

const HOUR = 3_600_000;
const TIMES = [
  ['An hour', HOUR],
  ['Four hours', 4 * HOUR],
  ['A day', 24 * HOUR],
  ['A week', 168 * HOUR],
] as const;

/** What is not told of for a while, in this browser. */
export function MuteForm({ one, onClose }: { one: One; onClose: () => void }): ReactNode {
  const all = coversOf(one);
  const [covers, setCovers] = useState(all[0]!);
  const [ms, setMs] = useState<number>(HOUR);
  return (
    <Modal title="Mute for a while" onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          mute(covers, ms);
          done(`Muted: ${wordsOf(covers)}`, async () => unmute(covers));
          onClose();
        }}
      >
        <fieldset className="flex flex-col gap-1">
          <legend className="mb-1 text-sm font-medium">What</legend>
          {all.map((by) => (
            <label key={by} className="flex min-h-8 items-center gap-2 text-sm pointer-coarse:min-h-11">
              <input type="radio" name="covers" checked={covers === by} onChange={() => setCovers(by)} />
              <span className="words min-w-0">{visible(wordsOf(by))}</span>
            </label>
          ))}
        </fieldset>
        <Field label="For" hint="It is kept in this browser, and nobody else's. Others go on being told.">
          {(id) => (
            <select id={id} value={ms} onChange={(event) => setMs(Number(event.target.value))} className="field">
              {TIMES.map(([name, of]) => (
                <option key={of} value={of}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary">
            Mute
          </Button>
        </div>
      </form>
    </Modal>
  );
}
