import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { prefixOf } from '../../files/composition/prefix.js';
import { PRESETS } from '../../files/composition/presets/presets.js';

/** A city of that name with nothing in it: every builtin provider, no agents, no rigs. */
export function defaultsOf(city: CityScope): CityConfig {
  return {
    workspace: { name: city.name, prefix: prefixOf(city.name), suspended_on_start: false },
    providers: PRESETS,
    resolved_providers: PRESETS,
    upstreams: {},
    agents: [],
    named_sessions: [],
    rigs: [],
    imports: {},
    default_rig_imports: {},
    patches: { agent: [], named_session: [], rigs: [], providers: [], github_pr_monitor: [] },
    formulas: [],
    order_files: [],
    commands: [],
    doctor_checks: [],
    mcp_servers: [],
    overlays: [],
    contents: {},
  };
}
