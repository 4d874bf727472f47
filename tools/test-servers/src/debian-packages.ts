import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { startProcessGroup } from './process-group.ts';

export interface PackageRequest {
  /** Names the folder in the cache. */
  readonly name: string;
  /** Unpacked without dependencies. */
  readonly bare?: readonly string[];
  /** Unpacked with those dependencies that are not installed. */
  readonly complete?: readonly string[];
  /** Dependencies whose names begin so are unpacked even if they are installed. */
  readonly always?: string;
  /** Shell commands that run in the unpacked root. */
  readonly adapt?: string;
  /** @default the user's cache */
  readonly cache?: string;
  readonly say?: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

export type UnpackResult =
  | { readonly ok: true; readonly root: string }
  /** `reason` is undefined on a system without Debian's package tools. */
  | { readonly ok: false; readonly reason?: string };

const TOOLS = ['/usr/bin/apt-get', '/usr/bin/apt-cache', '/usr/bin/dpkg-deb', '/usr/bin/flock'];
/** Downloads of 100 MB through a slow line. */
const DEADLINE_MS = 600_000;

/**
 * Arguments: target, `bare`, `complete`, `always`, `adapt`. Needs no root: only files below the target's folder change. Concurrent
 * runs wait for the lock. If the system's package lists are missing or out of date, fetches own ones.
 */
const UNPACK_SCRIPT = `
set -eu
umask 022
target=$1 bare=$2 complete=$3 always=$4 adapt=$5
exec 9>"$target.lock"
flock 9
[ ! -d "$target" ] || exit 0
work=$target.partial
rm -rf "$work"
mkdir -p "$work/root" "$work/state/lists/partial" "$work/archives/partial"
cd "$work"
cat >apt.conf <<CONFIGURATION
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
CONFIGURATION
export APT_CONFIG="$work/apt.conf" LC_ALL=C
fetch() {
  names=$bare
  if [ -n "$complete" ]; then
    tree=$(apt-cache depends --recurse --important $complete) &&
    plan=$(apt-get -s -qq install $complete) || return 1
    own=$(echo "$tree" | grep "^$always" | grep -v :) || own=
    missing=$(echo "$plan" | sed -n 's/^Inst \\([^ ]*\\) .*/\\1/p' | grep -vx 'libc6\\|libc-bin') || missing=
    names="$names $own $missing"
  fi
  apt-get -qq download $(printf '%s\\n' $names | sort -u)
}
fetch || {
  cat >>apt.conf <<CONFIGURATION
Dir::State "$work/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$work";
CONFIGURATION
  apt-get -qq update && fetch
}
for package in *.deb; do dpkg-deb -x "$package" root; done
(cd root && eval "$adapt")
mv root "$target"
cd /
rm -rf "$work"`;

/**
 * Unpacks Debian's packages into the user's cache, once per release of the system. Does not
 * install them. apt checks the signatures.
 */
export async function unpackDebianPackages(request: PackageRequest): Promise<UnpackResult> {
  if (!TOOLS.every((file) => existsSync(file))) return { ok: false };
  const folder = join(request.cache ?? userCache(), readSystem().release);
  const root = join(folder, request.name);
  if (existsSync(root)) return { ok: true, root };
  const beganAt = performance.now();
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    request.say?.(`${request.name}: unpacking Debian's packages into ${root}`);
    const group = await startProcessGroup({
      name: `apt-get for ${request.name}`,
      command: '/bin/sh',
      args: ['-c', UNPACK_SCRIPT, 'unpack', root, ...scriptArguments(request)],
      env: process.env,
      logFile: join(folder, `${request.name}.log`),
      stopDeadlineMs: 1_000,
    });
    const late = AbortSignal.any([
      AbortSignal.timeout(DEADLINE_MS),
      ...(request.signal === undefined ? [] : [request.signal]),
    ]);
    const stop = (): void => void group.stop();
    late.addEventListener('abort', stop, { once: true });
    if (late.aborted) stop();
    await group.exited;
    late.removeEventListener('abort', stop);
    await group.stop();
    request.signal?.throwIfAborted();
    request.say?.(`${request.name}: ${((performance.now() - beganAt) / 1000).toFixed(1)} s`);
    if (existsSync(root)) return { ok: true, root };
    return { ok: false, reason: `${group.lastLogLines(3)} (${group.logFile})` };
  } catch (error) {
    request.signal?.throwIfAborted();
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

function scriptArguments({ bare = [], complete = [], always, adapt }: PackageRequest): string[] {
  return [bare.join(' '), complete.join(' '), always ?? 'none', adapt ?? ''];
}

/** For root in a folder that the servers' users can enter. */
function userCache(): string {
  if (process.getuid?.() === 0) return '/var/cache/opentill';
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'opentill');
}

/** Variable for unpacked programs: the folders of unpacked libraries, then the inherited ones. */
export function libraryPath(root: string): { readonly LD_LIBRARY_PATH?: string } {
  const folders = ['lib', 'usr/lib'].flatMap((parent) =>
    listFolder(join(root, parent))
      .filter((name) => name.includes('-linux-gnu'))
      .flatMap((name) => [join(root, parent, name), join(root, parent, name, 'pulseaudio')]),
  );
  const path = [...folders.filter((folder) => existsSync(folder)), process.env['LD_LIBRARY_PATH'] ?? '']
    .filter((folder) => folder !== '')
    .join(delimiter);
  return path === '' ? {} : { LD_LIBRARY_PATH: path };
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

export interface System {
  /** For example `debian-12-x64`. */
  readonly release: string;
  /** The distribution, then those that it resembles. */
  readonly families: readonly string[];
}

/** From os-release(5), which only Linux has. */
export function readSystem(): System {
  try {
    return parseOsRelease(readFileSync('/etc/os-release', 'utf8'));
  } catch {
    return { release: `${process.platform}-${process.arch}`, families: [process.platform] };
  }
}

export function parseOsRelease(text: string): System {
  const value = (name: string): string =>
    new RegExp(`^${name}=["']?([^"'\\n]*)`, 'm').exec(text)?.[1]?.toLowerCase() ?? '';
  const [id, version] = [value('ID') || 'linux', value('VERSION_ID') || value('VERSION_CODENAME')];
  const families = [id, ...value('ID_LIKE').split(' ')].filter((family) => family !== '');
  return { release: `${id}-${version}-${process.arch}`.replaceAll(/[^\w.-]/g, ''), families };
}
