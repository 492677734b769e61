/** What each family of operations is about, as the document tells it, in the order in which somebody new needs them. */
export const FAMILIES: Readonly<Record<string, string>> = {
  system:
    'Whether the service is well, what version it is, and who is asking. `/health` says that the process lives, `/ready` that it can serve, `/v0/info` what the caller may.',
  cities:
    'Workspaces: made, registered, started, stopped and let go of. Everything else happens in one. Making, starting and stopping go on in the background: an event says how they ended.',
  events:
    'The log of everything that changes: lists, and streams that resume anywhere. Each city has a log, and the supervisor has one; a position in it never means anything else. Programs add kinds of their own.',
  agents:
    'Who works in a city: configured agents, members of pools, and what they say. What is configured is written to the files of the city.',
  sessions:
    'Conversations with agents: started, spoken to, followed, answered, ended. A session lasts with or without a process; any worker runs it. What an agent asks a person waits in `pending`.',
  beads:
    'Pieces of work, their dependencies, and which of them can be worked on now. Who works on one claims it, extends the lease of the claim, and closes it.',
  hooks: 'How an agent gets its next piece of work, and keeps it: what is on its hook, in which order, and a claim of the first.',
  sling:
    'Work given to an agent in one step: a bead, several, or a formula. It makes what is missing, assigns it, and wakes who is to do it.',
  convoys: 'Beads that belong together, and how far they have come. A convoy closes by itself, or is landed by its owner.',
  waits: 'Sessions that are told when something has happened: when beads are closed, or when somebody says so.',
  mail: 'Messages between people and agents. They are not work: nothing waits for them.',
  rigs: 'Directories and repositories that a city works on, each with beads and agents of its own.',
  formulas: 'Templates of work: what a city has, what they become with values for their variables, and the files of its own.',
  runs: 'Formulas that are being carried out: how far they are, what they consist of, and their end.',
  molecules: 'Formulas made into beads, for agents to carry out by themselves.',
  orders: 'What is done again and again: by the clock, when something happens, by a webhook, or by hand.',
  config: 'What the files of a city mean, where each value comes from, and its revisions.',
  providers: 'The tools that agents are run with, and whether hosts are ready for them.',
  packs: 'Shared configuration that cities import, from directories and repositories.',
  patches: 'Changes that a city makes to what its packs bring.',
  services: 'Programs that a city serves beside the contract: how they are, restarted, and what they write.',
  extmsg:
    'Conversations elsewhere, in Slack or a chat: who answers in them, what was said, and what speaks for an account. An adapter registers, hands over what comes in, and takes what goes out.',
  usage: 'Tokens and cost, by session, agent and city.',
  runners: 'The processes that run agents, and what they carry.',
  maintenance: 'What a city does not need any more, taken away, and how large its store is.',
  keys: 'Who may do what: keys, their rights and their cities. They count where the server runs with `SVC_AUTH=keys`.',
  audit: 'Who did what with which key.',
  schemas: 'JSON schemas for those who read without this document.',
};
