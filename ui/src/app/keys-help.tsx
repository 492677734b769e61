import { Fragment, type ReactNode } from 'react';
import { setSingleKeys, shownKeys, singleKeysOn, useGroups } from '../lib/keys.js';
import { Button, Modal } from '../parts/basics.js';

export function KeysHelp({ onClose }: { onClose: () => void }): ReactNode {
  const groups = useGroups()
    .map(({ name, bindings }) => ({ name, keys: bindings() }))
    .filter(({ keys }) => keys.length > 0);
  const on = singleKeysOn();
  return (
    <Modal title="Keys of this view" onClose={onClose} wide>
      <div data-first="" tabIndex={-1} className="flex flex-col gap-4 outline-none">
        {groups.map(({ name, keys: bindings }) => (
          <section key={name}>
            <h3 className="mb-1 text-sm font-semibold text-muted">{name}</h3>
            <dl className="grid grid-cols-[auto_1fr] items-center gap-x-4 gap-y-1.5 text-sm">
              {bindings.map(({ keys, label }) => (
                <Fragment key={keys}>
                  <dt>
                    <kbd className="key">{shownKeys(keys)}</kbd>
                  </dt>
                  <dd>{label}</dd>
                </Fragment>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <div className="flex flex-wrap justify-between gap-2">
        <Button look="quiet" onClick={() => setSingleKeys(!on)}>
          {on ? 'Switch single letters off' : 'Switch single letters on'}
        </Button>
        <Button onClick={onClose}>Close</Button>
      </div>
    </Modal>
  );
}
