import { Module } from '@nestjs/common';
import { GitModule } from '../../../platform/git/git.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { RigEditsService } from './rig-edits.service.js';
import { RigGit } from './rig-git.js';
import { RigProvisionsRepository } from './rig-provisions.repository.js';
import { RigsRepository } from './rigs.repository.js';

/** What requests and workers share. */
@Module({
  imports: [ConfigCoreModule, GitModule, RosterModule],
  providers: [RigEditsService, RigGit, RigProvisionsRepository, RigsRepository],
  exports: [RigEditsService, RigGit, RigProvisionsRepository, RigsRepository],
})
export class RigsCoreModule {}
