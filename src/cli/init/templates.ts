/** What kind of city `svc init` makes. */
export const TEMPLATES = ['loopback', 'claude', 'codex', 'gemini', 'script'] as const;
export type Template = (typeof TEMPLATES)[number];

export interface NewFile {
  readonly path: string;
  readonly text: string;
  readonly executable?: true;
  /** What is there already stays, and will do. */
  readonly optional?: true;
}

interface Facts {
  readonly name: string;
  readonly template: Template;
  /** Where the schemas of the files are. */
  readonly api: string;
}

/** The files of a new city, those first that `city.toml` is about. */
export function filesOf({ name, template, api }: Facts): NewFile[] {
  const schema = (file: string): string => `#:schema ${api}/schemas/${file}.json\n`;
  const agents = template === 'script' ? worker(schema) : mayor(schema);
  return [
    { path: '.gitignore', text: '.gc/\n', optional: true },
    ...agents,
    { path: 'pack.toml', text: `${schema('pack.toml')}${packToml(name, template)}` },
    { path: 'city.toml', text: `${schema('city.toml')}${template === 'script' ? scriptCity() : providerCity(template)}` },
  ];
}

function packToml(name: string, template: Template): string {
  const agents = `
# A pack that is shipped: a worker, the formula mol-do-work and a daily digest.
[imports.core]
source = "builtin:core"

# A session that is there under a name. It starts when somebody wants it.
[[named_session]]
name = "mayor"
template = "mayor"
mode = "on_demand"
`;
  return `# What this city is made of. Agents lie in agents/, formulas in formulas/, orders in orders/.

[pack]
name = "${name}"
schema = 2
${template === 'script' ? '' : agents}`;
}

function providerCity(provider: Exclude<Template, 'script'>): string {
  return `# How this city runs here. Every key: the reference in the guide of the service.

[workspace]
# What sessions run, unless an agent says something else.
provider = "${provider}"
# Sessions of the whole city at once.
max_active_sessions = 8
# What sessions reach: "all", "api" (nothing but our API), or a list of hosts beside it.
# network = "all"

[providers.${provider}]
base = "builtin:${provider}"

# A repository that the city works on:
# svc rig create web --git-url https://git.example.org/web.git
`;
}

function scriptCity(): string {
  return `# How this city runs here. Every key: the reference in the guide of the service.

[workspace]
# What agents run that say nothing else: a command of your own needs no provider.
start_command = "$SVC_CITY_PATH/scripts/worker"
# Sessions of the whole city at once.
max_active_sessions = 8

# A repository that the city works on:
# svc rig create web --git-url https://git.example.org/web.git
`;
}

function mayor(schema: (file: string) => string): NewFile[] {
  return [
    {
      path: 'agents/mayor/agent.toml',
      text: `${schema('agent.toml')}# The folder is the name of the agent.

description = "Keeps the city running and hands out its work"
# One session: the mayor is one agent, not a pool.
max_active_sessions = 1
`,
    },
    {
      path: 'agents/mayor/prompt.template.md',
      text: `# Mayor

People and other agents come to you first.

- Ask back when a goal is unclear.
- Cut the work into pieces that one agent can finish: \`svc bead create "…"\`.
- Hand each to the agent that fits it: \`svc sling AGENT BEAD\`.
- Say what was done, what was not, and why.
`,
    },
  ];
}

function worker(schema: (file: string) => string): NewFile[] {
  return [
    {
      path: 'agents/worker/agent.toml',
      text: `${schema('agent.toml')}# A pool: up to three sessions, started when there is work and gone when there is none.

description = "Works off beads, one after the other"
start_command = "$SVC_CITY_PATH/scripts/worker"
max_active_sessions = 3
`,
    },
    {
      path: 'scripts/worker',
      executable: true,
      text: `#!/bin/sh
# Runs in the working directory of its session, with svc on its path, which knows who it is.
set -eu
bead=$(svc hook claim) || exit 0   # nothing to do
echo "working on $bead"
# Put your work here. What is printed is the output of the agent.
svc bead show "$bead" | head -n 3
svc bead close "$bead" --reason "done by $SVC_AGENT"
`,
    },
  ];
}

/** What to type next. */
export function nextOf(template: Template, city: string): string[] {
  const of = `--city ${city}`;
  if (template === 'script')
    return [`svc sling worker $(svc bead create "Say hello" ${of}) ${of}`, `svc bead list --all ${of}`, `svc events --follow ${of}`];
  return [`svc session create mayor --message "hello" --wait ${of}`, `svc session list ${of}`, `svc events --follow ${of}`];
}
