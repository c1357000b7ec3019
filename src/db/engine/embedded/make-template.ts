/** Run by the setup: creates the template of a data directory, so that the first start is fast. */
import { ensureCluster, templateDir } from './cluster.ts';

await ensureCluster(templateDir, null);
