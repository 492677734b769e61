// Before the first paint, and a file of its own: the page's policy allows nothing inline.
(() => {
  let wish = null;
  try {
    wish = localStorage.getItem('svc.theme');
  } catch {
    // Storage may be forbidden; then the system's theme it is.
  }
  const dark = wish === 'dark' || (wish !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
