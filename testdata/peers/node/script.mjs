// What the programs of the matrix do that are written with the TypeScript
// SDKs; ../matrix/script says the same in Go.
import { createServer } from 'node:http';

export const note = { uri: 'test://note', text: 'a note' };
export const tools = ['steps', 'burst', 'wait', 'cancelled', 'change', 'ask'];
export const root = { uri: 'file:///matrix' };

let cancelled = 0;

/** run is what a tool but ask does; progress and change are how it tells. */
export async function run(tool, signal, progress, change) {
  switch (tool) {
    case 'steps':
    case 'burst':
      for (const done of [1, 2, 3]) {
        await progress(done);
        if (tool === 'steps') await sleep(50);
      }
      return 'done';
    case 'wait':
      await progress(1);
      await new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error('nobody cancelled')), 30_000);
        signal.addEventListener('abort', () => { clearTimeout(late); cancelled++; reject(new Error('cancelled')); });
      });
      return '';
    case 'cancelled':
      return String(cancelled);
    case 'change':
      await change();
      return 'changed';
  }
}

/** flags reads -serve CARRIER, or -call CARRIER -revision REV [-detect yes] and the rest. */
export function flags() {
  const f = { rest: [] };
  const args = process.argv.slice(2);
  for (let i = 0; i < args.length; i++) {
    if (args[i] === '--') { f.rest = args.slice(i + 1); break; }
    if (args[i].startsWith('-')) f[args[i].slice(1)] = args[++i];
    else { f.rest = args.slice(i); break; }
  }
  return f;
}

/** listen serves HTTP and says where. */
export function listen(path, handler) {
  const s = createServer(handler);
  s.listen(0, '127.0.0.1', () => console.error(`LISTEN http://127.0.0.1:${s.address().port}${path}`));
}

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

async function eventually(ms, f) {
  for (const end = Date.now() + ms; ; await sleep(10)) {
    if (await f()) return true;
    if (Date.now() > end) return false;
  }
}

/**
 * play makes the steps with a client, and says a line each. dial(updated)
 * gives { revision, listTools(), call(tool, progress, signal), read(uri),
 * subscribe(uri), close() }.
 */
export async function play(revision, dial) {
  const updated = new Set();
  let c;
  async function progress(tool) {
    const got = [];
    const text = await c.call(tool, v => got.push(v));
    if (text !== 'done') throw new Error(`the result is ${text}`);
    await eventually(1000, () => got.length >= 3);
    if (got.join() !== '1,2,3') throw new Error(`the progress is [${got.join(' ')}]`);
  }
  const steps = {
    async open() {
      c = await dial(uri => updated.add(uri));
      if (c.revision !== revision) throw new Error(`the revision is ${c.revision}`);
    },
    async list() {
      const got = (await c.listTools()).sort().join(' ');
      if (got !== [...tools].sort().join(' ')) throw new Error(`the tools are ${got}`);
    },
    progress: () => progress('steps'),
    burst: () => progress('burst'),
    async cancel() {
      const abort = new AbortController();
      let running, ended;
      const started = new Promise(resolve => { running = resolve; });
      const call = c.call('wait', () => running(true), abort.signal).then(() => { ended = 'well'; }, e => { ended = e.message; });
      if (!await Promise.race([started, call.then(() => false), sleep(3000).then(() => false)])) {
        abort.abort();
        throw new Error(ended ? `the call ended at once: ${ended}` : 'no progress came');
      }
      abort.abort();
      if (!await Promise.race([call.then(() => true), sleep(5000).then(() => false)])) throw new Error('the call does not end');
      if (ended === 'well') throw new Error('the call ended well');
      if (!await eventually(3000, async () => await c.call('cancelled') !== '0')) throw new Error('the server was not told');
    },
    async read() {
      const text = await c.read(note.uri);
      if (text !== note.text) throw new Error(`the note reads ${text}`);
    },
    async ask() {
      const text = await c.call('ask');
      if (text !== root.uri) throw new Error(`the server got the root ${text}`);
    },
    async subscribe() {
      await c.subscribe(note.uri);
      for (let i = 0; i < 5; i++) {
        await c.call('change');
        if (await eventually(1000, () => updated.has(note.uri))) return;
      }
      throw new Error(`no update came, but ${[...updated].join(' ')}`);
    },
    async close() { await c.close(); },
  };
  for (const [name, step] of Object.entries(steps)) {
    try {
      await Promise.race([step(), sleep(10_000).then(() => { throw new Error('it does not end'); })]);
      console.log(JSON.stringify({ Name: name }));
    } catch (e) {
      console.log(JSON.stringify({ Name: name, Err: String(e?.message ?? e) }));
      if (name === 'open') break;
    }
  }
  process.exit(0);
}
