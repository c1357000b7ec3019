/** Run by the setup. */
import { ensureCluster, templateDir } from './cluster.ts';

await ensureCluster(templateDir, null);
