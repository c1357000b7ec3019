/** Run by the set-up: makes the template of a data directory, so that the first start is quick. */
import { ensureCluster, templateDir } from './cluster.ts';

await ensureCluster(templateDir, null);
