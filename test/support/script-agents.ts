import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventLines } from './event-lines.js';
import type { User } from './user.js';

/**
 * What somebody writes who has no model at hand: takes what is ready, commits it in the repository of the rig `web`, once a
 * bead, and waits for the next word. While there is a file `hold` in the city the work that was taken is not finished.
 */
const script = (dir: string): string => `#!/bin/bash
while :; do
  while id=$(svc hook claim --lease 1m) && [ -n "$id" ]; do
    echo "working on $id"
    touch "${dir}/taken-$id"
    while [ -e "${dir}/hold" ]; do sleep 0.1; done
    (
      cd "${dir}/rigs/web" && exec 9>.git/one-at-a-time && flock 9
      git log --format=%s | grep -qx "feat: $id" || { echo "$id" >>DONE; git add DONE; git commit -qm "feat: $id"; }
    )
    svc bead close "$id" --reason done
  done
  echo "nothing left"
  read -r _ || exit 0
done
`;

/** From the user's folder. */
export const CITY = '.svc/cities/works';

/** A city `works` with a repository as its rig `web` and a pool `hand` of three script agents, whose command is wrong unless told. */
export async function city(user: User, command = './hand.sh'): Promise<void> {
  await user.run('export PATH="$PWD/bin:$PATH" SVC_CITY=works');
  await user.run('svc city create works --provider loopback');
  // Its agents see the city, and nothing of what is around it.
  const dir = join(user.dir, CITY);
  await writeFile(join(dir, 'hand.sh'), script(dir), { mode: 0o755 });
  const rig = join(dir, 'rigs/web');
  await mkdir(rig, { recursive: true });
  await user.run(`cd "${rig}" && git init -qb main && git config user.name hand && git config user.email hand@example.com \\
    && touch DONE && git add DONE && git commit -qm 'feat: begin'`);
  await user.run('svc rig create web');
  await user.run(`svc provider create hands --command "${command}" --prompt-mode none --ready-delay 100ms`);
  await user.run('svc agent create hand --provider hands --prompt "There is work."');
  await user.run('echo "max_active_sessions = 3" >> .svc/cities/works/agents/hand/agent.toml');
  await user.run('svc config reload');
}

/** Twenty beads, most of which wait for another one, in a convoy. */
export async function twentyBeads(user: User): Promise<{ beads: string[]; convoy: string }> {
  const made = await user.run(
    `for n in $(seq 20); do
      svc bead create "Part $n" $([ "$n" -gt 6 ] && echo --blocked-by "$(cat "made-$((n - 6))")") >"made-$n" &
      [ $((n % 6)) -gt 0 ] || wait
    done
    wait
    ids=$(for n in $(seq 20); do cat "made-$n"; done | xargs)
    echo $ids; svc convoy create "The release" $ids`,
  );
  const [ids, convoy] = made.trim().split('\n') as [string, string];
  return { beads: ids.split(' '), convoy };
}

/** The commits of the rig: the name of each bead as often as somebody has done it. */
export async function commits(user: User): Promise<string[]> {
  const log = await user.run('git -C .svc/cities/works/rigs/web log --format=%s');
  return log
    .trim()
    .split('\n')
    .filter((subject) => subject !== 'feat: begin');
}

/** `kill -9` of every script agent that runs. */
export async function killAgents(user: User): Promise<void> {
  await user.run(`pkill -9 -f '${join(user.dir, CITY)}/[h]and.sh' || true`);
}

/** All events of the city, from the first one. */
export async function allEvents(user: User): Promise<ReturnType<typeof eventLines>> {
  return eventLines(await user.run('svc events --after 0'));
}
