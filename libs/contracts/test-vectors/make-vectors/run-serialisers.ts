import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** A language runtime on this machine, and the generator in this folder that it runs. */
export interface Serialiser {
  readonly name: string;
  /**
   * `again` passes a text on standard input; without it the generator creates the vectors. Returns the parsed output.
   */
  readonly run: (input?: { readonly again: string }) => Promise<unknown>;
}

const RUN_TIMEOUT_MS = 240_000;
const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const JARS = `${FOLDER}java/.local/jars`;

function execute(program: string, args: readonly string[], folder = '', input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: `${FOLDER}${folder}`, timeout: RUN_TIMEOUT_MS, maxBuffer: 16 << 20 };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args.join(' ')}: ${stderr || error.message}`));
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

function answers(program: string, ...args: string[]): Promise<boolean> {
  return execute(program, args).then(
    () => true,
    () => false,
  );
}

function serialiser(
  name: string,
  program: string,
  args: readonly string[],
  usual: readonly string[] = [],
  folder = '',
): Serialiser {
  return {
    name,
    run: async (input) => {
      const rest = input === undefined ? usual : ['again'];
      return JSON.parse(await execute(program, [...args, ...rest], folder, input?.again)) as unknown;
    },
  };
}

/** Fetches them once, which needs Maven and its repository. */
async function hasJars(): Promise<boolean> {
  const isThere = await access(JARS).then(
    () => true,
    () => false,
  );
  if (isThere) return true;
  return execute(
    'mvn',
    ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${JARS}`],
    'java',
  ).then(
    () => true,
    () => false,
  );
}

/**
 * Node.js always, the others if their runtime is installed.
 * @param olderGo a second go binary, of 1.21 or before, whose vectors are named `go-1.21/…`
 * @param wanted starts the runtimes of these languages only. @default all
 */
export async function listSerialisers(
  olderGo?: string,
  wanted: readonly string[] = ['python', 'php', 'go', 'java'],
): Promise<readonly Serialiser[]> {
  const found = [serialiser('javascript', process.execPath, ['javascript.mjs'])];
  const has = async (name: string, program: string, argument = '--version') =>
    wanted.includes(name) && answers(program, argument);
  if (await has('python', 'python3')) found.push(serialiser('python', 'python3', ['python.py']));
  if (await has('php', 'php')) found.push(serialiser('php', 'php', ['php.php']));
  if (await has('go', 'go', 'version')) found.push(serialiser('go', 'go', ['run', '.'], ['go'], 'go'));
  if (olderGo !== undefined) found.push(serialiser('go-1.21', olderGo, ['run', '.'], ['go-1.21'], 'go'));
  if ((await has('java', 'java')) && (await hasJars())) {
    found.push(serialiser('java', 'java', ['-cp', `${JARS}/*`, 'java/Vectors.java'], ['payloads.json']));
  }
  return found;
}
