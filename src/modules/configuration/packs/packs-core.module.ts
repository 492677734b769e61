import { Module } from '@nestjs/common';
import { GitModule } from '../../../platform/git/git.module.js';
import { DirectoriesModule } from '../../files/directories/directories.module.js';
import { PackInstallerService } from './pack-installer.service.js';

/** What requests and workers share. */
@Module({ imports: [DirectoriesModule, GitModule], providers: [PackInstallerService], exports: [PackInstallerService] })
export class PacksCoreModule {}
