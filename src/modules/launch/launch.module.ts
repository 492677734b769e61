import { Module } from '@nestjs/common';
import { IsolationModule } from '../../platform/isolation/isolation.module.js';
import { ThreadsModule } from '../../platform/threads/threads.module.js';
import { ConfigCoreModule } from '../config/config-core.module.js';
import { DirectoriesModule } from '../directories/directories.module.js';
import { AgentHost } from './agent-host.js';
import { CityCommands } from './city-commands.js';
import { DeploymentService } from './deployment.service.js';
import { LaunchPlanner } from './launch-planner.js';
import { LaunchRepository } from './launch.repository.js';
import { LaunchService } from './launch.service.js';
import { SessionFolders } from './session-folders.js';
import { SessionSandboxes } from './session-sandbox.js';

/** What sessions are made from and how their processes are started. */
@Module({
  imports: [ConfigCoreModule, DirectoriesModule, IsolationModule, ThreadsModule],
  providers: [AgentHost, CityCommands, DeploymentService, LaunchPlanner, LaunchRepository, LaunchService, SessionFolders, SessionSandboxes],
  exports: [CityCommands, DeploymentService, LaunchService, SessionFolders],
})
export class LaunchModule {}
