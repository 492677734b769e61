import { Module } from '@nestjs/common';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../config/config-core.module.js';
import { AgentPatchesController } from './agent-patches.controller.js';
import { PatchesController } from './patches.controller.js';
import { PatchesService } from './patches.service.js';

@Module({
  imports: [CitiesModule, ConfigCoreModule],
  controllers: [AgentPatchesController, PatchesController],
  providers: [PatchesService],
})
export class PatchesModule {}
