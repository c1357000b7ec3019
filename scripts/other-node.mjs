/**
 * `node scripts/other-node.mjs 24 npm test`: runs a command with another major release of Node.js first on its PATH, from the
 * npm package that has its binary for this platform. Ends with the command's exit code.
 */
import { spawn } from 'node:child_process';

const { platform, arch } = process;
// The names under which the package `node` looks for its binaries.
const system = platform === 'win32' ? 'win' : platform;
const binary = `node-${platform === 'darwin' && arch === 'arm64' ? 'bin-' : ''}${system}-${arch}`;

const [major = '', ...command] = process.argv.slice(2);
if (!/^\d+$/.test(major) || command.length === 0) {
  console.error('Usage: node scripts/other-node.mjs <major release> <command> [<argument> …]');
  process.exit(2);
}
const child = spawn('npx', ['--yes', `--package=${binary}@${major}`, '--', ...command], {
  stdio: 'inherit',
  shell: platform === 'win32',
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
});
