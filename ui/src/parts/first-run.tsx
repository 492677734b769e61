import type { ReactNode } from 'react';
import { CreateCity } from './create-city.js';

/** Where there is nothing yet: what there will be, and the way there. */
export const FirstRun = (): ReactNode => (
  <section className="flex flex-col gap-5 rounded-xl border border-line bg-panel p-6">
    <div>
      <h2 className="text-base font-semibold">There is no city yet</h2>
      <p className="mt-1 text-muted">
        A city is a directory in which agents work. Create one, start a session in it, and say your first words: what its agents ask you
        stands here.
      </p>
    </div>
    <CreateCity />
  </section>
);
