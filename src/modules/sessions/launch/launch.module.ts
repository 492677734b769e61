import { Module } from '@nestjs/common';
import { IsolationModule } from '../../../platform/isolation/isolation.module.js';
import { ThreadsModule } from '../../../platform/threads/threads.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { DirectoriesModule } from '../../files/directories/directories.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { SessionStoreModule } from '../session-store/session-store.module.js';
import { AgentHost } from './agent-host.js';
import { CityCommands } from './city-commands.js';
import { DeploymentService } from './deployment.service.js';
import { EffectiveSuspension } from './effective-suspension.service.js';
import { LaunchPlanner } from './launch-planner.js';
import { LaunchRepository } from './launch.repository.js';
import { LaunchService } from './launch.service.js';
import { SessionFolders } from './session-folders.js';
import { SessionSandboxes } from './session-sandbox.js';
import { StartsOfRuns } from './starts-of-runs.js';

/** What sessions are made from, how their processes are started, and the one rule of what is suspended. */
@Module({
  imports: [ConfigCoreModule, DirectoriesModule, IsolationModule, RosterModule, SessionStoreModule, ThreadsModule],
  providers: [
    AgentHost,
    CityCommands,
    DeploymentService,
    EffectiveSuspension,
    LaunchPlanner,
    LaunchRepository,
    LaunchService,
    SessionFolders,
    SessionSandboxes,
    StartsOfRuns,
  ],
  exports: [CityCommands, DeploymentService, EffectiveSuspension, LaunchService, SessionFolders],
})
export class LaunchModule {}
