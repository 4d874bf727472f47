/** Groups: scheme, user and password, hosts, rest. */
const SHAPE = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/is;
const POSTGRES = /^postgres(ql)?:\/\//i;
const AMQP = /^amqps?:\/\//i;
/** The values of libpq that a service can work with. */
const SESSION_ATTRIBUTES = ['read-write', 'primary'];

/**
 * One URL for each host of `scheme://user:password@host1:port1,host2:port2/path?parameters`, with the same user, path
 * and parameters. libpq has the same syntax.
 */
export function urlPerHost(url: string): readonly string[] {
  const [, scheme = '', user = '', hosts = '', rest = ''] = SHAPE.exec(url) ?? [];
  if (!hosts.includes(',')) return [url];
  return hosts.split(',').map((host) => `${scheme}${user}${host}${rest}`);
}

/** Changes what the hosts have in common. */
export function changeServerUrl(url: string, change: (parsed: URL) => void): string {
  const [first = ''] = urlPerHost(url);
  const parsed = new URL(first);
  change(parsed);
  if (first === url) return parsed.href;
  const [, scheme = '', user = '', , rest = ''] = SHAPE.exec(parsed.href) ?? [];
  return `${scheme}${user}${SHAPE.exec(url)?.[3] ?? ''}${rest}`;
}

/** For messages: without user, password and path. */
export function hostOf(url: string): string {
  return SHAPE.exec(url)?.[3] ?? '';
}

/** Completes the sentence "VARIABLE …", without a secret. Undefined for other schemes, whose schema decides. */
export function findServerUrlProblem(url: string): string | undefined {
  if (!POSTGRES.test(url) && !AMQP.test(url)) return undefined;
  return findHostProblem(url) ?? (POSTGRES.test(url) ? findAttributeProblem(url) : undefined);
}

function findHostProblem(url: string): string | undefined {
  const urls = urlPerHost(url);
  if (urls.length === 1) return undefined;
  const hosts = urls.map(hostOf);
  for (const [place, one] of urls.entries()) {
    const host = hosts[place] ?? '';
    if (host === '' || host.startsWith(':')) return `has no host at place ${place + 1} of its list`;
    if (/\s/.test(host)) return 'has a space in its list of hosts: separate them only by commas';
    if (!URL.canParse(one))
      return `has an invalid host or port at place ${place + 1} of its list, or a special character in its password that needs percent-encoding`;
    if (hosts.indexOf(host) < place) return `names the host ${host} twice`;
  }
  return undefined;
}

function findAttributeProblem(url: string): string | undefined {
  const [first = ''] = urlPerHost(url);
  const value = URL.canParse(first) ? new URL(first).searchParams.get('target_session_attrs') : null;
  if (value === null || SESSION_ATTRIBUTES.includes(value)) return undefined;
  return `has target_session_attrs=${value}, but the gateway writes: use read-write, or remove it`;
}
