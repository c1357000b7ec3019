/** The style sheet of `/docs`. It follows the color scheme and loads no fonts or images. */

/** `dark` has the same names. */
const light = `
  --ground: #fcfcfa; --raised: #f3f3ef; --line: #dededa; --ink: #1d1f20; --quiet: #5b6062;
  --link: #0f6a63; --focus: #0f766e; --get: #1d5fa8; --post: #22703a; --patch: #8a5a00; --put: #8a5a00;
  --delete: #a8322a; --good: #22703a; --bad: #a8322a; --warn: #8a5a00;`;

const dark = `
  --ground: #16191a; --raised: #1f2324; --line: #343a3b; --ink: #e6e8e6; --quiet: #a0a8a8;
  --link: #6fd0c4; --focus: #6fd0c4; --get: #8ec1f5; --post: #8fd6a0; --patch: #e8bd6a; --put: #e8bd6a;
  --delete: #f3a199; --good: #8fd6a0; --bad: #f3a199; --warn: #e8bd6a;`;

const page = `
*, ::before, ::after { box-sizing: border-box; }
[hidden] { display: none !important; }
html { color-scheme: light dark; scroll-padding-top: 4.5rem; -webkit-text-size-adjust: 100%; }
body {
  margin: 0; display: grid; grid-template: auto 1fr / 17rem minmax(0, 1fr);
  background: var(--ground); color: var(--ink);
  font: 1rem/1.6 ui-sans-serif, system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif;
  overflow-wrap: anywhere;
}
a { color: var(--link); text-underline-offset: .2em; text-decoration-thickness: from-font; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -100vw; background: var(--ground); padding: .5rem 1rem; z-index: 2; }
.skip:focus { left: 0; top: 0; }
h1, h2, h3 { line-height: 1.25; text-wrap: balance; }
h1 { font-size: 2rem; letter-spacing: -.015em; margin: 0 0 .5rem; }
h2 { font-size: 1.5rem; letter-spacing: -.01em; margin: 4rem 0 .25rem; }
h3 { font-size: 1.15rem; margin: 0 0 .5rem; }
article h2 { font-size: 1.15rem; letter-spacing: 0; margin: 0 0 .5rem; }
article h3 { font-size: .8rem; margin: 1.75rem 0 .5rem; color: var(--quiet); text-transform: uppercase; letter-spacing: .06em; }
article h3 code, article h3 small { text-transform: none; letter-spacing: 0; color: var(--ink); }
:is(h2, h3, .name) a { color: inherit; text-decoration: none; }
:is(h2, h3, .name) a:hover { text-decoration: underline; }
p, ul { margin: 0 0 .75rem; max-width: 42rem; }
small { color: var(--quiet); font-size: .8125rem; font-weight: 400; }
code, pre, textarea, input, dt, th { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; font-size: .875rem; }
pre { margin: 0; padding: .85rem 1rem; background: var(--raised); border-radius: 6px; overflow-x: auto; line-height: 1.5; overflow-wrap: normal; }`;

/** Below 60rem the columns are stacked. */
const frame = `
header {
  grid-column: 1 / -1; position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: .5rem 1.5rem;
  align-items: center; padding: .6rem 1.5rem; background: var(--ground); border-bottom: 1px solid var(--line);
}
header p { margin: 0; }
.name { font-weight: 600; margin-right: auto; }
#key-form { display: flex; gap: .5rem; align-items: center; font-size: .875rem; }
#key { width: 16rem; }
nav { position: sticky; top: 3.6rem; align-self: start; max-height: calc(100vh - 3.6rem); overflow-y: auto; padding: 1.5rem 1rem 2rem 1.5rem; font-size: .875rem; line-height: 1.4; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav > ul > li { margin-bottom: 1rem; }
nav > ul > li > a { font-weight: 600; color: var(--ink); text-decoration: none; }
nav li li a { display: flex; gap: .5rem; align-items: baseline; padding: .2rem .4rem; margin-left: -.4rem; border-radius: 4px; color: var(--ink); text-decoration: none; }
nav a:hover { background: var(--raised); }
nav b { flex: 0 0 3.2rem; font-size: .6875rem; }
main { padding: 2.5rem 2rem 6rem; max-width: 56rem; }
.lead { font-size: 1.125rem; color: var(--quiet); }
@media (max-width: 60rem) {
  body { display: block; }
  header { position: static; padding: .6rem 1rem; }
  nav { position: static; max-height: none; padding: .75rem 1rem; border-bottom: 1px solid var(--line); }
  nav > ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
  nav > ul > li { margin: 0; }
  nav > ul > li > a { display: inline-block; padding: .3rem 0; color: var(--link); }
  nav li ul { display: none; }
  main { padding: 1.5rem 1rem 4rem; }
  html { scroll-padding-top: 1rem; }
  #key-form { flex: 1 1 100%; }
  #key { flex: 1; width: auto; min-width: 0; }
}
@media print { nav, header, .try { display: none; } body { display: block; } }`;

const operation = `
article { margin-top: 2rem; padding-top: 1.75rem; border-top: 1px solid var(--line); }
section > section { margin-top: 2rem; }
.line { margin-bottom: .5rem; }
nav b, .line b, th b { font: 700 .75rem/1 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; letter-spacing: .02em; color: var(--quiet); }
.get { color: var(--get); } .post { color: var(--post); } .put { color: var(--put); } .patch { color: var(--patch); } .delete { color: var(--delete); }
.path { font-size: .9375rem; }
.badges i { font-style: normal; display: inline-block; padding: .05rem .5rem; border: 1px solid var(--line); border-radius: 1rem; font-size: .75rem; color: var(--quiet); }
.badges .stable { color: var(--good); border-color: currentColor; }
.badges .beta, .badges .experimental { color: var(--warn); border-color: currentColor; }
.badges .deprecated { color: var(--bad); border-color: currentColor; }
table { width: 100%; border-collapse: collapse; font-size: .9375rem; margin: 0 0 .75rem; }
th { text-align: left; font-weight: 400; width: 14.5rem; line-height: 1.7; }
th small { font-family: ui-sans-serif, system-ui, sans-serif; }
th, td { padding: .45rem .75rem .45rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { padding-right: 0; }
td table { margin: .25rem 0 0; } td tr:last-child > * { border-bottom: 0; }
td i { font-style: normal; color: var(--quiet); }
a > code { text-decoration: inherit; } a:has(code) { text-underline-offset: .35em; }
td dl { margin: 0; }
dl { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: .35rem 1.5rem; margin: 0 0 .75rem; font-size: .9375rem; }
dd { margin: 0; }
.choice { margin: .75rem 0; padding-left: 1rem; border-left: 3px solid var(--line); }
details { margin: .75rem 0; }
summary { cursor: pointer; color: var(--link); font-size: .9375rem; margin-bottom: .5rem; }
tr:target, :target > :is(h2, h3) { background: var(--raised); }
@media (max-width: 40rem) {
  table, tbody, tr, th, td { display: block; width: 100%; }
  th { border: 0; padding-bottom: 0; } td { padding-top: .1rem; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; }
}`;

const form = `
.try { margin-top: 1.75rem; padding: 1rem 1.25rem 1.1rem; border: 1px solid var(--line); border-radius: 8px; }
article .try h3 { margin-top: 0; }
.try p { display: grid; grid-template-columns: 9rem minmax(0, 1fr); gap: .25rem 1rem; align-items: baseline; margin: 0 0 .6rem; max-width: none; }
.try label { font: .875rem ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
input, select, textarea { width: 100%; padding: .4rem .6rem; color: inherit; background: var(--ground); border: 1px solid var(--quiet); border-radius: 4px; font-size: .875rem; line-height: 1.6; }
textarea { resize: vertical; line-height: 1.5; }
button { font: 600 .875rem ui-sans-serif, system-ui, sans-serif; padding: .5rem 1.1rem; border: 1px solid transparent; border-radius: 4px; background: var(--focus); color: var(--ground); cursor: pointer; justify-self: start; }
.try > p:last-of-type { margin: 0; } .try > p:last-of-type button { grid-column: 2; }
button:disabled { opacity: .6; cursor: progress; }
button.quiet { background: none; color: var(--link); border-color: var(--line); padding: .2rem .7rem; font-weight: 400; }
.answer:not(:empty) { margin-top: 1rem; }
.answer p { display: flex; flex-wrap: wrap; gap: .25rem 1rem; } .answer p button { margin-left: auto; }
.answer .good { color: var(--good); font-weight: 600; } .answer .bad { color: var(--bad); font-weight: 600; }
.answer pre { white-space: pre-wrap; overflow-wrap: anywhere; max-height: 32rem; overflow-y: auto; }
@media (max-width: 40rem) { .try p { grid-template-columns: 1fr; } .try > p:last-of-type button { grid-column: 1; } }`;

export const style = `:root {${light}
}
@media (prefers-color-scheme: dark) { :root {${dark}
} }
${page}
${frame}
${operation}
${form}
`;
