import { Module } from '@nestjs/common';
import { ConfigCoreModule } from '../config/config-core.module.js';
import { AgentHost } from './agent-host.js';
import { DeploymentService } from './deployment.service.js';
import { LaunchPlanner } from './launch-planner.js';
import { LaunchRepository } from './launch.repository.js';
import { LaunchService } from './launch.service.js';

/** What sessions are made from and how their processes are started. */
@Module({
  imports: [ConfigCoreModule],
  providers: [AgentHost, DeploymentService, LaunchPlanner, LaunchRepository, LaunchService],
  exports: [DeploymentService, LaunchService],
})
export class LaunchModule {}
